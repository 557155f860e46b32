/**
 * The frame of every signed-in page: side bar (a drawer on a phone), skip link, toasts and the dialog that confirms
 * the user's identity.
 */
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

/** Loaded after the first page, because of the size of Mantine's menu. */
const HelpMenu = lazy(async () => ({ default: (await import("./help-menu.tsx")).HelpMenu }));
const Toasts = lazy(async () => ({ default: (await import("../interaction/toasts.tsx")).Toasts }));

export function Shell() {
  const session = useOptionalSession();
  // Null for a moment after the session ended, before the router redirects to the sign-in page.
  if (!session) return null;
  // If another user signed in in another tab, all state is reset.
  return <SessionShell key={session.user.id} session={session} />;
}

function SessionShell({ session }: { session: Session }) {
  const store = useSessionStore();
  // One client per session, so that the next user does not see cached data.
  const [apollo] = useState(() =>
    createApolloClient({
      onUnauthorized: () => store.end(),
      // The session may have ended meanwhile, so load it again.
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
        Skip to content
      </button>
      <aside className={classes.side}>
        <SideBar session={session} help={<Help session={session} />} />
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
          <div className={classes.help}>
            <Help session={session} />
          </div>
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

function Help({ session }: { session: Session }) {
  return (
    <Suspense>
      <HelpMenu session={session} />
    </Suspense>
  );
}

/** The page, or "no permission" if the user's role may not open it. */
function AuthorizedOutlet({ session }: { session: Session }) {
  const matches = useMatches();
  const isAllowed = matches.every(({ staticData }) => canVisit(session, staticData.access ?? "anyone"));
  return isAllowed ? <Outlet /> : <NoPermission />;
}
