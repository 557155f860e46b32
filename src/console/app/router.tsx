/** The route tree, and the pages shown while a route loads or when it fails. */
import { createRouter, useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState, LoadingState } from "../components/status/page-states.tsx";
import { NotFoundPage } from "../pages/not-found.page.tsx";
import { accountRoutes } from "../routes/account.routes.ts";
import { integrationsRoutes } from "../routes/integrations.routes.ts";
import { jobsRoutes } from "../routes/jobs.routes.ts";
import { operatorRoutes } from "../routes/operator.routes.ts";
import { membersRoutes } from "../routes/members.routes.ts";
import { simulatorRoutes } from "../routes/simulator.routes.ts";
import { consoleRoute, publicRoute, rootRoute, type RouterContext } from "../routes/root.route.tsx";
import type { Access } from "./session/access.ts";
import type { Mode } from "./session/mode.ts";
import { basePath } from "./api/server-url.ts";
import { pageIsShown } from "./later.tsx";
import { requestHeadingFocus } from "./interaction/page-heading.ts";
import { parseSearch, stringifySearch } from "./search-params.ts";

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
  interface StaticDataRouteOption {
    /** Which users may open the page; default: any signed-in user. */
    access?: Access;
    /** The page is about the live organisation, or about test data. The other mode does not show it. */
    onlyIn?: Mode;
  }
}

const routeTree = rootRoute.addChildren([
  publicRoute.addChildren(accountRoutes),
  consoleRoute.addChildren([
    ...jobsRoutes,
    ...integrationsRoutes,
    ...simulatorRoutes,
    ...operatorRoutes,
    ...membersRoutes,
  ]),
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
  router.subscribe("onResolved", pageIsShown);
  // Runs the route guards again after signing in or out.
  context.session.subscribe(() => void router.invalidate());
  return router;
}

/** Percent-encoding that is cut off, as in `/jobs/%E0`, would throw while the router reads the URL. Shows it as text instead. */
export function repairUrl(): void {
  const { pathname, search, hash } = window.location;
  if (!isDecodable(pathname))
    window.history.replaceState(null, "", pathname.replaceAll("%", "%25") + search + hash);
}

function isDecodable(text: string): boolean {
  try {
    // The build drops a call whose result is not used.
    return decodeURI(text) !== "";
  } catch {
    return false;
  }
}

/** Loads the code of the current page while the session is still being loaded. */
export function preloadPage(router: ReturnType<typeof createConsoleRouter>): void {
  for (const { routeId } of router.matchRoutes(
    router.latestLocation.pathname,
    router.latestLocation.search,
  )) {
    // On failure the router loads it again and reports the error.
    router.loadRouteChunk(router.routesById[routeId])?.catch(() => undefined);
  }
}

function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // Also loads the page's code again, if that has failed.
  const retry = (): void => void router.invalidate().then(reset);
  return <ErrorState error={error} onRetry={retry} />;
}
