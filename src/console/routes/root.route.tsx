/** The roots of the tree of routes: pages for everyone, and pages for who is signed in. */
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { needsTwoFactor } from "../app/session/access.ts";
import { AccountLayout } from "../app/layout/account-layout.tsx";
import { parseReturnTo } from "../app/session/return-to.ts";
import type { SessionStore } from "../app/session/session.ts";
import { UnsavedChangesProvider } from "../app/interaction/unsaved-changes.tsx";
import { Splash } from "../components/status/splash.tsx";

export interface RouterContext {
  session: SessionStore;
}

export const rootRoute = createRootRouteWithContext<RouterContext>()({ component: Root });

function Root() {
  return (
    <UnsavedChangesProvider>
      <Outlet />
    </UnsavedChangesProvider>
  );
}

/** Below it: whoever comes. */
export const publicRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "public",
  component: AccountLayout,
});

/** Below it: whoever is signed in. A route says for whom it is by `staticData.access`. */
export const consoleRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "console",
  // Apollo and everything around a page are not what a sign-in page waits for.
  component: lazyRouteComponent(() => import("../app/layout/shell.tsx"), "Shell"),
  pendingComponent: Splash,
  beforeLoad({ context, location }) {
    const session = context.session.current();
    const search = parseReturnTo({ next: location.href });
    if (!session) throw redirect({ to: "/sign-in", search, replace: true });
    if (needsTwoFactor(session)) throw redirect({ to: "/two-factor-required", search, replace: true });
  },
});
