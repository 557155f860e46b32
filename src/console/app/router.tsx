/** Every route in one tree, and what stands in a page's place while it is on its way or where it fails. */
import { createRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState, LoadingState } from "../components/status/page-states.tsx";
import { NotFoundPage } from "../pages/not-found.page.tsx";
import { accountRoutes } from "../routes/account.routes.ts";
import { integrationsRoutes } from "../routes/integrations.routes.ts";
import { jobsRoutes } from "../routes/jobs.routes.ts";
import { operatorRoutes } from "../routes/operator.routes.ts";
import { membersRoutes } from "../routes/members.routes.ts";
import { consoleRoute, publicRoute, rootRoute, type RouterContext } from "../routes/root.route.tsx";
import type { Access } from "./session/access.ts";
import { basePath } from "./api/server-url.ts";
import { requestHeadingFocus } from "./interaction/page-heading.ts";
import { parseSearch, stringifySearch } from "./search-params.ts";

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
  interface StaticDataRouteOption {
    /** For whom the page is; for anyone who is signed in unless said. */
    access?: Access;
  }
}

const routeTree = rootRoute.addChildren([
  publicRoute.addChildren(accountRoutes),
  consoleRoute.addChildren([...jobsRoutes, ...integrationsRoutes, ...operatorRoutes, ...membersRoutes]),
]);

export function createConsoleRouter(context: RouterContext) {
  const router = createRouter({
    routeTree,
    context,
    basepath: basePath,
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    defaultPendingMs: 150,
    scrollRestoration: true,
    defaultPendingComponent: LoadingState,
    defaultErrorComponent: RouteError,
    defaultNotFoundComponent: NotFoundPage,
  });
  router.subscribe("onBeforeNavigate", ({ fromLocation, pathChanged }) => {
    if (fromLocation && pathChanged) requestHeadingFocus();
  });
  // Whoever has signed in or out meets the routes' guards anew.
  context.session.subscribe(() => void router.invalidate());
  return router;
}

/** Begins to load the code of the page that was come to, while it is still asked who is there. */
export function preloadPage(router: ReturnType<typeof createConsoleRouter>): void {
  for (const { routeId } of router.matchRoutes(
    router.latestLocation.pathname,
    router.latestLocation.search,
  )) {
    // Where it fails it is loaded again, and told, when the page is shown.
    router.loadRouteChunk(router.routesById[routeId])?.catch(() => undefined);
  }
}

function RouteError({ error, reset }: ErrorComponentProps) {
  return <ErrorState error={error} onRetry={reset} />;
}
