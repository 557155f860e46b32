/** The routes of the delivery log. Parses the request, calls the service, formats the result. */
import { Router } from "express";
import { addRoute } from "../add-route.ts";
import { callerOf, principalOf } from "../context.ts";
import { type RouteHandler, toRequestHandler } from "../json.ts";
import { idempotent } from "./idempotent.ts";
import { cursorLinkHeader } from "./link-header.ts";
import { queryReader } from "./parameters.ts";
import { idOf, toDate, type WebhookRouteServices } from "./webhook-endpoints.routes.ts";
import { deliveryParameters } from "./webhooks.schema.ts";
import { toDeliveryDetailWire, toDeliveryWire } from "./webhooks.wire.ts";

const MANAGE = ["webhooks:manage"] as const;
const readListQuery = queryReader(deliveryParameters);

export function webhookDeliveryRoutes(services: WebhookRouteServices): Router {
  const { guards } = services;
  const router = Router({ caseSensitive: true });
  const one = "/webhook-deliveries/:id";
  const oneName = "/v1/webhook-deliveries/{id}";
  const replayName = `${oneName}/replay`;
  addRoute(
    router,
    { path: "/webhook-deliveries", name: "/v1/webhook-deliveries" },
    { get: [...guards("read", MANAGE), toRequestHandler(listDeliveries(services))] },
  );
  addRoute(
    router,
    { path: one, name: oneName },
    { get: [...guards("read", MANAGE), toRequestHandler(getDelivery(services))] },
  );
  addRoute(
    router,
    { path: `${one}/replay`, name: replayName },
    { post: [...guards("write", MANAGE), toRequestHandler(replayDelivery(services, replayName), 201)] },
  );
  return router;
}

function listDeliveries({ deliveries, baseUrl }: WebhookRouteServices): RouteHandler {
  return async (request, response) => {
    const parameters = readListQuery(request.originalUrl);
    const { cursor, page_size: pageSize } = parameters;
    const filter = {
      endpointId: parameters.endpoint_id,
      status: parameters.status,
      eventType: parameters.event_type,
      markingNumber: parameters.marking_number,
      since: toDate(parameters.since),
      until: toDate(parameters.until),
    };
    const page = await deliveries.list(principalOf(response), { filter, limit: pageSize, cursor });
    const { items, nextCursor } = page;
    const headers = cursorLinkHeader(baseUrl + request.originalUrl, nextCursor);
    const pagination = { page_size: pageSize, next_cursor: nextCursor };
    return { data: { items: items.map(toDeliveryWire), pagination }, headers };
  };
}

function getDelivery({ deliveries }: WebhookRouteServices): RouteHandler {
  return async (request, response) => {
    const principal = principalOf(response);
    const canReadJobs = principal.scopes.includes("jobs:read");
    return { data: toDeliveryDetailWire(await deliveries.get(principal, idOf(request)), { canReadJobs }) };
  };
}

function replayDelivery({ deliveries, idempotency }: WebhookRouteServices, name: string): RouteHandler {
  return idempotent(idempotency, `POST ${name}`, async (request, response, tx) => {
    const replay = await deliveries.replay(callerOf(request, response), idOf(request), { tx });
    return { data: toDeliveryWire(replay), changed: true };
  });
}
