/** What stands around every page of who is signed in: the side bar, on a phone a drawer, and the way past both. */
import { ApolloProvider } from "@apollo/client/react";
import { Burger, Group } from "@mantine/core";
import { Outlet, useMatches } from "@tanstack/react-router";
import { lazy, Suspense, useRef, useState } from "react";
import { Brand } from "../../components/layout/brand.tsx";
import { OfflineBanner } from "../../components/status/offline-banner.tsx";
import { ReauthenticationDialog } from "../../components/dialogs/reauthentication-dialog.tsx";
import { NoPermission } from "../../components/status/page-states.tsx";
import { canVisit } from "../session/access.ts";
import { createApolloClient } from "../api/apollo.ts";
import { NavigationDrawer } from "./navigation-drawer.tsx";
import { useOptionalSession, useSessionStore, type Session } from "../session/session.ts";
import classes from "./shell.module.css";
import { SideBar } from "./side-bar.tsx";

const Toasts = lazy(async () => ({ default: (await import("../interaction/toasts.tsx")).Toasts }));

export function Shell() {
  const session = useOptionalSession();
  // For the moment between a session's end and the way to the sign-in page there is nobody.
  if (!session) return null;
  // Another person, who has signed in in another tab, begins anew.
  return <SessionShell key={session.user.id} session={session} />;
}

function SessionShell({ session }: { session: Session }) {
  const store = useSessionStore();
  // It lives as long as the session: what one person was shown is not kept for the next.
  const [apollo] = useState(() =>
    createApolloClient({
      onUnauthorized: () => store.end(),
      // The session may have ended while nothing was asked: who is there is learnt at once.
      onForbidden: () => void store.load().catch(() => undefined),
    }),
  );
  return (
    <ApolloProvider client={apollo}>
      <ShellLayout session={session} />
    </ApolloProvider>
  );
}

function ShellLayout({ session }: { session: Session }) {
  const main = useRef<HTMLElement>(null);
  const drawer = useRef<HTMLDialogElement>(null);
  return (
    <div className={classes.root}>
      <button type="button" className={classes.skip} onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <aside className={classes.side}>
        <SideBar session={session} />
      </aside>
      <div className={classes.column}>
        <OfflineBanner />
        <Group component="header" className={classes.top} wrap="nowrap">
          <Burger
            size="sm"
            aria-label="Menu"
            aria-haspopup="dialog"
            onClick={() => drawer.current?.showModal()}
          />
          <Brand />
        </Group>
        <main ref={main} tabIndex={-1} className={classes.main}>
          <AuthorizedOutlet session={session} />
        </main>
      </div>
      <NavigationDrawer ref={drawer} session={session} />
      <Suspense>
        <Toasts />
      </Suspense>
      <ReauthenticationDialog />
    </div>
  );
}

/** The page, if it is for who is here. */
function AuthorizedOutlet({ session }: { session: Session }) {
  const matches = useMatches();
  const isAllowed = matches.every(({ staticData }) => canVisit(session, staticData.access ?? "anyone"));
  return isAllowed ? <Outlet /> : <NoPermission />;
}
