/** The routes of webhook endpoints. Parses the request, calls the service, formats the result. */
import { type Request, type RequestHandler, Router } from "express";
import { partnerOf } from "../../core/principal.ts";
import { requireScope } from "../../api-keys/api.ts";
import type { IdempotencyService } from "../../idempotency/api.ts";
import type { DeliveryService, EndpointService, PendingPolicy, ReplaySelection } from "../../webhooks/api.ts";
import { addRoute, type RouteHandlers } from "../add-route.ts";
import { callerOf, principalOf } from "../context.ts";
import { objectBody, readJson, readOptionalJson, type RouteHandler, toRequestHandler } from "../json.ts";
import { duringExternalCall } from "../in-share.ts";
import type { ApiKeyGuards } from "./api-key-guards.ts";
import { MAX_JSON_BYTES, parseBody } from "./body.ts";
import { idempotent, idempotentAfter } from "./idempotent.ts";
import { invalid } from "./parameters.ts";
import { readEndpointPatch, readNewEndpoint } from "./webhook-endpoints.settings.ts";
import { replayBody, resumeBody } from "./webhooks.bodies.ts";
import { toDeliveryDetailWire, toEndpointWire } from "./webhooks.wire.ts";

export interface WebhookRouteServices {
  endpoints: EndpointService;
  deliveries: DeliveryService;
  idempotency: IdempotencyService;
  guards: ApiKeyGuards;
  /** Prefix of the URLs in `Link`: empty, or the public URL of the service. */
  baseUrl: string;
}

const MANAGE = ["webhooks:manage"] as const;
/** Setting a URL also requires `jobs:read`, because whole jobs are sent there. */
const MANAGE_URL = ["webhooks:manage", "jobs:read"] as const;

export const idOf = (request: Request): string => String(request.params["id"]);

export function webhookEndpointRoutes(services: WebhookRouteServices): Router {
  const { guards } = services;
  const router = Router({ caseSensitive: true });
  const one = "/webhook-endpoints/:id";
  const oneName = "/v1/webhook-endpoints/{id}";
  const add = (path: string, name: string, handlers: RouteHandlers) =>
    addRoute(router, { path, name }, handlers);
  /** A POST to one endpoint; `body` parses its body, if it has one. */
  const addAction = (
    action: string,
    handler: (name: string) => RequestHandler,
    body: readonly RequestHandler[] = [],
  ): void => {
    const name = `${oneName}/${action}`;
    add(`${one}/${action}`, name, { post: [...guards("write", MANAGE), ...body, handler(name)] });
  };

  add("/webhook-endpoints", "/v1/webhook-endpoints", {
    get: [...guards("read", MANAGE), toRequestHandler(listEndpoints(services))],
    post: [
      ...guards("write", MANAGE_URL),
      readJson(MAX_JSON_BYTES),
      toRequestHandler(createEndpoint(services), 201),
    ],
  });
  add(one, oneName, {
    get: [...guards("read", MANAGE), toRequestHandler(getEndpoint(services))],
    patch: [...guards("write", MANAGE), readJson(MAX_JSON_BYTES), toRequestHandler(updateEndpoint(services))],
    delete: [...guards("write", MANAGE), toRequestHandler(deleteEndpoint(services))],
  });
  addAction("rotate-secret", (name) => toRequestHandler(rotateSecret(services, name)));
  addAction("pause", () => toRequestHandler(pauseEndpoint(services)));
  addAction("resume", () => toRequestHandler(resumeEndpoint(services)), [readOptionalJson(MAX_JSON_BYTES)]);
  addAction("test", () => toRequestHandler(sendTestEvent(services), 201));
  addAction("replay", (name) => toRequestHandler(replayMany(services, name)), [readJson(MAX_JSON_BYTES)]);
  return router;
}

function listEndpoints({ endpoints }: WebhookRouteServices): RouteHandler {
  return async (_request, response) => {
    const items = await endpoints.list(principalOf(response));
    return { data: { items: items.map(toEndpointWire) } };
  };
}

function createEndpoint({ endpoints, idempotency }: WebhookRouteServices): RouteHandler {
  return idempotentAfter(idempotency, "POST /v1/webhook-endpoints", async (request, response) => {
    const owner = callerOf(request, response);
    const validate = (settings: Parameters<EndpointService["validate"]>[1]) =>
      duringExternalCall(response, () => endpoints.validate(partnerOf(owner), settings));
    const settings = await readNewEndpoint(objectBody(request), validate);
    const validated = await validate(settings);
    return async (tx) => {
      const { endpoint, secret } = await endpoints.create(owner, settings, { tx, validated });
      return { data: { endpoint: toEndpointWire(endpoint), secret }, secrets: ["secret"], changed: true };
    };
  });
}

function getEndpoint({ endpoints }: WebhookRouteServices): RouteHandler {
  return async (request, response) => ({
    data: toEndpointWire(await endpoints.get(principalOf(response), idOf(request))),
  });
}

function updateEndpoint({ endpoints }: WebhookRouteServices): RouteHandler {
  return async (request, response) => {
    const principal = callerOf(request, response);
    const body = objectBody(request);
    const setsUrl = body["url"] !== undefined;
    if (setsUrl) requireScope(principal, "jobs:read");
    const settings = await readEndpointPatch(body, (valid) =>
      duringExternalCall(response, () => endpoints.validate(partnerOf(principal), valid)),
    );
    const update = () => endpoints.update(principal, idOf(request), settings);
    // Only a new URL needs a DNS lookup.
    return { data: toEndpointWire(await (setsUrl ? duringExternalCall(response, update) : update())) };
  };
}

function deleteEndpoint({ endpoints }: WebhookRouteServices): RouteHandler {
  return async (request, response) => {
    const { discarded } = await endpoints.delete(callerOf(request, response), idOf(request));
    return { data: { deleted_id: idOf(request), discarded } };
  };
}

function rotateSecret({ endpoints, idempotency }: WebhookRouteServices, name: string): RouteHandler {
  return idempotent(idempotency, `POST ${name}`, async (request, response, tx) => {
    const caller = callerOf(request, response);
    const { endpoint, secret } = await endpoints.rotateSecret(caller, idOf(request), { tx });
    return { data: { endpoint: toEndpointWire(endpoint), secret }, secrets: ["secret"], changed: true };
  });
}

function pauseEndpoint({ endpoints }: WebhookRouteServices): RouteHandler {
  return async (request, response) => ({
    data: toEndpointWire(await endpoints.pause(callerOf(request, response), idOf(request))),
  });
}

function resumeEndpoint({ endpoints }: WebhookRouteServices): RouteHandler {
  return async (request, response) => {
    const pendingPolicy = readPendingPolicy(request);
    const caller = callerOf(request, response);
    const { endpoint, discarded } = await endpoints.resume(caller, idOf(request), { pendingPolicy });
    return { data: { endpoint: toEndpointWire(endpoint), discarded } };
  };
}

function readPendingPolicy(request: Request): PendingPolicy {
  const { pending, since } = parseBody(resumeBody, objectBody(request));
  if (since === undefined) return pending;
  if (pending === "send") return { since: new Date(since) };
  const message = "is only allowed with pending: send";
  throw invalid("body", "since", { code: "conflict", message });
}

function sendTestEvent({ deliveries }: WebhookRouteServices): RouteHandler {
  return async (request, response) => {
    const send = () => deliveries.sendTest(callerOf(request, response), idOf(request));
    return { data: toDeliveryDetailWire(await duringExternalCall(response, send), { canReadJobs: true }) };
  };
}

function replayMany({ deliveries, idempotency }: WebhookRouteServices, name: string): RouteHandler {
  return idempotent(idempotency, `POST ${name}`, async (request, response, tx) => {
    const selection = readSelection(request);
    const caller = callerOf(request, response);
    const { hasMore, ...result } = await deliveries.replayMany(caller, idOf(request), selection, { tx });
    return { data: { ...result, has_more: hasMore }, changed: result.replayed > 0 };
  });
}

function readSelection(request: Request): ReplaySelection {
  const { which, since, until } = parseBody(replayBody, objectBody(request));
  return { which, since: toDate(since), until: toDate(until) };
}

export function toDate(time: string | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time);
}
