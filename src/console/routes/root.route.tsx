/** The parent routes: one for public pages, one for pages that need a session. */
import { createRootRouteWithContext, createRoute, Outlet, redirect } from "@tanstack/react-router";
import { lazyPage } from "../app/lazy-page.ts";
import { needsTwoFactor } from "../app/session/access.ts";
import { AccountLayout } from "../app/layout/account-layout.tsx";
import { parseReturnTo } from "../app/session/return-to.ts";
import type { SessionStore } from "../app/session/session.ts";
import { UnsavedChangesProvider } from "../app/interaction/unsaved-changes.tsx";
import { ScreenGuideProvider, useMatchedScreenGuide } from "../app/guide/screen-guide.ts";
import { Splash } from "../components/status/splash.tsx";

export interface RouterContext {
  session: SessionStore;
}

export const rootRoute = createRootRouteWithContext<RouterContext>()({ component: Root });

function Root() {
  return (
    <ScreenGuideProvider value={useMatchedScreenGuide()}>
      <UnsavedChangesProvider>
        <Outlet />
      </UnsavedChangesProvider>
    </ScreenGuideProvider>
  );
}

/** Parent of public pages. */
export const publicRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "public",
  component: AccountLayout,
});

/** Parent of pages that need a session. `staticData.access` restricts a page further. */
export const consoleRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "console",
  // Loaded separately, so that the sign-in page does not wait for Apollo and the shell.
  component: lazyPage(() => import("../app/layout/shell.tsx"), "Shell"),
  pendingComponent: Splash,
  beforeLoad({ context, location }) {
    const session = context.session.current();
    const search = parseReturnTo({ next: location.href });
    if (!session) throw redirect({ to: "/sign-in", search, replace: true });
    if (needsTwoFactor(session)) throw redirect({ to: "/two-factor-required", search, replace: true });
  },
});
