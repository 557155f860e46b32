/** Keys, webhooks, and what came of them. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { repairing } from "../app/repaired-link.ts";
import { deliveriesSearch } from "../pages/integrations/deliveries.search.ts";
import { requestsSearch } from "../pages/integrations/requests.search.ts";
import { usageSearch } from "../pages/integrations/usage.search.ts";
import { consoleRoute } from "./root.route.tsx";

const section = createRoute({
  getParentRoute: () => consoleRoute,
  path: "integrations",
  staticData: { access: "integrations" },
  component: lazyRouteComponent(
    () => import("../pages/integrations/integrations.layout.tsx"),
    "IntegrationsLayout",
  ),
});

const index = createRoute({
  getParentRoute: () => section,
  path: "/",
  beforeLoad() {
    throw redirect({ to: "/integrations/keys", replace: true });
  },
});

const keys = createRoute({
  getParentRoute: () => section,
  path: "keys",
  component: lazyRouteComponent(() => import("../pages/integrations/keys.page.tsx"), "KeysPage"),
});

const endpoints = createRoute({
  getParentRoute: () => section,
  path: "endpoints",
  component: lazyRouteComponent(() => import("../pages/integrations/endpoints.page.tsx"), "EndpointsPage"),
});

const endpoint = createRoute({
  getParentRoute: () => section,
  path: "endpoints/$id",
  component: lazyRouteComponent(() => import("../pages/integrations/endpoint.page.tsx"), "EndpointPage"),
});

const deliveries = createRoute({
  getParentRoute: () => section,
  path: "deliveries",
  validateSearch: repairing(deliveriesSearch),
  component: lazyRouteComponent(() => import("../pages/integrations/deliveries.page.tsx"), "DeliveriesPage"),
});

const delivery = createRoute({
  getParentRoute: () => section,
  path: "deliveries/$id",
  component: lazyRouteComponent(() => import("../pages/integrations/delivery.page.tsx"), "DeliveryPage"),
});

const requests = createRoute({
  getParentRoute: () => section,
  path: "requests",
  validateSearch: repairing(requestsSearch),
  component: lazyRouteComponent(() => import("../pages/integrations/requests.page.tsx"), "RequestsPage"),
});

const usage = createRoute({
  getParentRoute: () => section,
  path: "usage",
  validateSearch: repairing(usageSearch),
  component: lazyRouteComponent(() => import("../pages/integrations/usage.page.tsx"), "UsagePage"),
});

export const integrationsRoutes = [
  section.addChildren([index, keys, endpoints, endpoint, deliveries, delivery, requests, usage]),
];
