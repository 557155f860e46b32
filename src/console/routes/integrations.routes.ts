/** Routes for API keys, webhooks, the request log and usage. */
import { createRoute, redirect } from "@tanstack/react-router";
import { lazyPage } from "../app/lazy-page.ts";
import { withRepairNotice } from "../app/link-repair.ts";
import { parseDeliveriesSearch } from "../pages/integrations/deliveries/deliveries.search.ts";
import { parseListedMode } from "../pages/integrations/listed-mode.ts";
import { parseRequestsSearch } from "../pages/integrations/requests/requests.search.ts";
import { parseUsageSearch } from "../pages/integrations/usage/usage.search.ts";
import { consoleRoute } from "./root.route.tsx";

const section = createRoute({
  getParentRoute: () => consoleRoute,
  path: "integrations",
  staticData: { access: "integrations" },
  component: lazyPage(() => import("../pages/integrations/integrations.layout.tsx"), "IntegrationsLayout"),
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
  validateSearch: withRepairNotice(parseListedMode),
  component: lazyPage(() => import("../pages/integrations/keys/keys.page.tsx"), "KeysPage"),
});

const endpoints = createRoute({
  getParentRoute: () => section,
  path: "endpoints",
  validateSearch: withRepairNotice(parseListedMode),
  component: lazyPage(() => import("../pages/integrations/endpoints/endpoints.page.tsx"), "EndpointsPage"),
});

const endpoint = createRoute({
  getParentRoute: () => section,
  path: "endpoints/$id",
  component: lazyPage(() => import("../pages/integrations/endpoints/endpoint.page.tsx"), "EndpointPage"),
});

const deliveries = createRoute({
  getParentRoute: () => section,
  path: "deliveries",
  validateSearch: withRepairNotice(parseDeliveriesSearch),
  component: lazyPage(() => import("../pages/integrations/deliveries/deliveries.page.tsx"), "DeliveriesPage"),
});

const delivery = createRoute({
  getParentRoute: () => section,
  path: "deliveries/$id",
  component: lazyPage(() => import("../pages/integrations/deliveries/delivery.page.tsx"), "DeliveryPage"),
});

const requests = createRoute({
  getParentRoute: () => section,
  path: "requests",
  validateSearch: withRepairNotice(parseRequestsSearch),
  component: lazyPage(() => import("../pages/integrations/requests/requests.page.tsx"), "RequestsPage"),
});

const usage = createRoute({
  getParentRoute: () => section,
  path: "usage",
  staticData: { access: "usage" },
  validateSearch: withRepairNotice(parseUsageSearch),
  component: lazyPage(() => import("../pages/integrations/usage/usage.page.tsx"), "UsagePage"),
});

export const integrationsRoutes = [
  section.addChildren([index, keys, endpoints, endpoint, deliveries, delivery, requests, usage]),
];
