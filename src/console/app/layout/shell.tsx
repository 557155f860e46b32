/**
 * The frame of every signed-in page: side bar (a drawer on a phone), skip link, toasts and the dialog that confirms
 * the user's identity.
 */
import { ApolloProvider } from "@apollo/client/react";
import { Burger, Group, CloseButton, UnstyledButton } from "@mantine/core";
import { Outlet, useMatches, useNavigate, useRouter } from "@tanstack/react-router";
import { Fragment, useMemo, useRef, useEffect, type MouseEvent, type RefObject } from "react";
import { Brand } from "../../components/layout/brand.tsx";
import { OfflineBanner } from "../../components/status/offline-banner.tsx";
import { ReauthenticationDialog } from "../../components/dialogs/reauthentication-dialog.tsx";
import { OtherMode, NoPermission } from "../../components/status/page-states.tsx";
import { canVisit } from "../session/access.ts";
import { createApolloClient } from "../api/apollo.ts";
import {
  useMode,
  useOptionalSession,
  useSessionStore,
  type Session,
  type SessionStore,
} from "../session/session.ts";
import { api, ApiError } from "../api/client.ts";
import { later } from "../later.tsx";
import classes from "./shell.module.css";
import { PaletteButton, PaletteIcon } from "../palette/palette.button.tsx";
import { PaletteHost } from "../palette/palette.host.tsx";
import { SideBar } from "./side-bar.tsx";
import { IconEye, IconTestPipe } from "@tabler/icons-react";
import { GuideLink } from "../../components/layout/guide-link.tsx";
import { guide } from "../guide/guide-pages.ts";

const HelpMenu = later(async () => (await import("./help-menu.tsx")).HelpMenu);
const Toasts = later(async () => (await import("../interaction/toasts.tsx")).Toasts);

export function Shell() {
  const session = useOptionalSession();
  // Null for a moment after the session ended, before the router redirects to the sign-in page.
  if (!session) return null;
  // If another user signed in in another tab, all state is reset.
  return <SessionShell key={session.user.id} session={session} />;
}

function SessionShell({ session }: { session: Session }) {
  const store = useSessionStore();
  const mode = useMode();
  const { session_id: sessionId } = session;
  // One client per session and mode, so that neither the next user nor the other mode sees cached data.
  const apollo = useMemo(
    () =>
      createApolloClient({
        mode,
        onUnauthorized: () => store.end(),
        // The session may have ended meanwhile, so load it again.
        onForbidden: () => void reload(store).catch(() => undefined),
      }),
    // A new session needs a new socket.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [store, mode, sessionId],
  );
  return (
    <ApolloProvider client={apollo}>
      <ShellLayout session={session} />
    </ApolloProvider>
  );
}

/** Loads the session. Leaves test mode if the organisation has no test data, as after a restore of an older backup. */
async function reload(store: SessionStore): Promise<void> {
  await store.load();
  if (store.mode() !== "test") return;
  await api.post("auth/test-mode").catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 403) store.setMode("live");
  });
}

function ShellLayout({ session }: { session: Session }) {
  const main = useRef<HTMLElement>(null);
  const drawer = useRef<HTMLDialogElement>(null);
  const mode = useMode();
  return (
    <div className={classes.root} data-mode={mode}>
      <button type="button" className={classes.skip} onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <aside className={classes.side}>
        <SideBar session={session} search={<PaletteButton />} help={<HelpMenu session={session} />} />
      </aside>
      <div className={classes.column}>
        <OfflineBanner />
        <ModeBand session={session} />
        <Group component="header" className={classes.top} wrap="nowrap">
          <Burger
            size="sm"
            aria-label="Menu"
            aria-haspopup="dialog"
            onClick={() => drawer.current?.showModal()}
          />
          <Brand />
          <div className={classes.help}>
            <PaletteIcon />
            <HelpMenu session={session} />
          </div>
        </Group>
        <main ref={main} tabIndex={-1} className={classes.main}>
          {/* The key drops the state of the other mode. */}
          <Fragment key={mode}>
            <AuthorizedOutlet session={session} />
          </Fragment>
        </main>
      </div>
      <NavigationDrawer ref={drawer} session={session} />
      <Toasts />
      <ReauthenticationDialog />
      <PaletteHost session={session} />
    </div>
  );
}

/** The page, or why the user may not open it. */
function AuthorizedOutlet({ session }: { session: Session }) {
  const matches = useMatches();
  const refused = matches.find(({ staticData }) => !canVisit(session, staticData.access ?? "anyone"));
  const mode = useMode();
  if (refused) return <NoPermission isForOperators={refused.staticData.access === "operator"} />;
  const isOfMode = matches.every(({ staticData }) => (staticData.onlyIn ?? mode) === mode);
  return isOfMode ? <Outlet /> : <OtherMode />;
}

interface NavigationDrawerProps {
  ref: RefObject<HTMLDialogElement | null>;
  session: Session;
}

/** The side bar on a phone, in a native `<dialog>` that traps the focus and closes on Escape. */
function NavigationDrawer({ ref, session }: NavigationDrawerProps) {
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

/** A band at the top of each page, and a frame around the window, unless the mode is live. */
function ModeBand({ session }: { session: Session }) {
  const mode = useMode();
  return (
    <div role="status">
      {mode === "partner" && session.organization && <PartnerBand organization={session.organization} />}
      {mode === "test" && (
        <div className={classes.band}>
          <IconTestPipe size={18} stroke={1.7} aria-hidden="true" />
          <span>Test mode: nothing here is live</span>
          <GuideLink page={guide.testMode} c="inherit" />
        </div>
      )}
    </div>
  );
}

function PartnerBand({ organization: { id, name } }: { organization: NonNullable<Session["organization"]> }) {
  const store = useSessionStore();
  const navigate = useNavigate();
  const stop = async (): Promise<void> => {
    store.setMode("live");
    await navigate({ to: "/operator/organizations/$id", params: { id } });
  };
  return (
    <div className={classes.band}>
      <IconEye size={18} stroke={1.7} aria-hidden="true" />
      <span>You see what viewers of {name} see, and can change nothing</span>
      <UnstyledButton fz="sm" td="underline" onClick={() => void stop()}>
        Stop viewing
      </UnstyledButton>
    </div>
  );
}
