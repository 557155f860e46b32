/** The side bar on a phone, in a native `<dialog>` that traps the focus and closes on Escape. */
import { CloseButton } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { useEffect, type MouseEvent, type RefObject } from "react";
import classes from "./navigation-drawer.module.css";
import type { Session } from "../session/session.ts";
import { SideBar } from "./side-bar.tsx";

interface NavigationDrawerProps {
  ref: RefObject<HTMLDialogElement | null>;
  session: Session;
}

export function NavigationDrawer({ ref, session }: NavigationDrawerProps) {
  const router = useRouter();
  useEffect(() => router.subscribe("onBeforeNavigate", () => ref.current?.close()), [router, ref]);
  /** A click whose target is the dialog itself is on the backdrop. */
  const closeFromOutside = ({ target }: MouseEvent): void => {
    if (target === ref.current) ref.current?.close();
  };
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape closes it
    <dialog ref={ref} className={classes.drawer} aria-label="Menu" onClick={closeFromOutside}>
      <div className={classes.content}>
        <CloseButton
          className={classes.close}
          size="lg"
          aria-label="Close menu"
          onClick={() => ref.current?.close()}
        />
        <SideBar session={session} />
      </div>
    </dialog>
  );
}
