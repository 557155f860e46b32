/** The roots of the tree of routes: pages for everyone, and pages for who is signed in. */
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { lacksSecondStep } from "../app/access.ts";
import { AccountLayout } from "../app/account-layout.tsx";
import { nextSearch } from "../app/next.ts";
import type { SessionStore } from "../app/session.ts";
import { UnsavedProvider } from "../app/unsaved.tsx";
import { Starting } from "../components/starting.tsx";

export interface RouterContext {
  session: SessionStore;
}

export const rootRoute = createRootRouteWithContext<RouterContext>()({ component: Root });

function Root() {
  return (
    <UnsavedProvider>
      <Outlet />
    </UnsavedProvider>
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
  component: lazyRouteComponent(() => import("../app/shell.tsx"), "Shell"),
  pendingComponent: Starting,
  beforeLoad({ context, location }) {
    const session = context.session.current();
    const search = nextSearch({ next: location.href });
    if (!session) throw redirect({ to: "/sign-in", search, replace: true });
    if (lacksSecondStep(session)) throw redirect({ to: "/second-step", search, replace: true });
  },
});
