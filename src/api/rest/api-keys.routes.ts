/** The routes of API keys. Parses the request, calls the service, formats the result. */
import { type Request, Router } from "express";
import type { z } from "zod";
import { type ApiKeyService, GRACE_HOURS, type IssuedKey, keyUuid } from "../../api-keys/api.ts";
import type { IdempotencyService } from "../../idempotency/api.ts";
import { addRoute } from "../add-route.ts";
import { callerOf, principalOf } from "../context.ts";
import { objectBody, readJson, readOptionalJson, type RouteHandler, toRequestHandler } from "../json.ts";
import type { ApiKeyGuards } from "./api-key-guards.ts";
import { newKeyBody, revocationParameters, rotationBody } from "./api-keys.schema.ts";
import { toApiKeyWire } from "./api-keys.wire.ts";
import { MAX_JSON_BYTES, parseBody, validMembers } from "./body.ts";
import { type ChangeResult, idempotent } from "./idempotent.ts";
import { problemsIn, queryReader, withAllProblems } from "./parameters.ts";

interface ApiKeyRouteServices {
  keys: ApiKeyService;
  idempotency: IdempotencyService;
}

const MANAGE = ["keys:manage"] as const;

export function apiKeyRoutes(services: ApiKeyRouteServices & { guards: ApiKeyGuards }): Router {
  const { guards } = services;
  const router = Router({ caseSensitive: true });
  const all = "/v1/api-keys";
  addRoute(
    router,
    { path: "/api-keys", name: all },
    {
      get: [...guards("read", MANAGE), toRequestHandler(listKeys(services))],
      post: [
        ...guards("write", MANAGE),
        readJson(MAX_JSON_BYTES),
        toRequestHandler(createKey(services, all), 201),
      ],
    },
  );
  const one = `${all}/{id}`;
  addRoute(
    router,
    { path: "/api-keys/:id", name: one },
    { delete: [...guards("write", MANAGE), toRequestHandler(revokeKey(services))] },
  );
  const rotate = `${one}/rotate`;
  addRoute(
    router,
    { path: "/api-keys/:id/rotate", name: rotate },
    {
      post: [
        ...guards("write", MANAGE),
        readOptionalJson(MAX_JSON_BYTES),
        toRequestHandler(rotateKey(services, rotate), 201),
      ],
    },
  );
  return router;
}

function listKeys({ keys }: ApiKeyRouteServices): RouteHandler {
  return async (_request, response) => ({
    data: { items: (await keys.listFor(principalOf(response))).map(toApiKeyWire) },
  });
}

function createKey({ keys, idempotency }: ApiKeyRouteServices, route: string): RouteHandler {
  return idempotent(idempotency, `POST ${route}`, async (request, response, tx) => {
    const body = objectBody(request);
    const read = () => parseBody(newKeyBody, body);
    const members = await withAllProblems(read, async () => [
      ...problemsIn(read),
      ...keys.requestProblems(toKeyRequest(validMembers(newKeyBody, body))),
    ]);
    return issuedResult(await keys.createFor(callerOf(request, response), toKeyRequest(members), tx));
  });
}

function toKeyRequest<Members extends Partial<z.output<typeof newKeyBody>>>({
  expires_at: expiresAt,
  organization_type: organizationType,
  ...members
}: Members) {
  return {
    ...members,
    organizationType,
    expiresAt: typeof expiresAt === "string" ? new Date(expiresAt) : null,
  };
}

function rotateKey({ keys, idempotency }: ApiKeyRouteServices, route: string): RouteHandler {
  return idempotent(idempotency, `POST ${route}`, async (request, response, tx) => {
    const { grace_hours: graceHours = GRACE_HOURS.default } = parseBody(rotationBody, objectBody(request));
    return issuedResult(await keys.rotateFor(callerOf(request, response), keyIdOf(request), graceHours, tx));
  });
}

const readRevocationQuery = queryReader(revocationParameters);

function revokeKey({ keys }: ApiKeyRouteServices): RouteHandler {
  return async (request, response) => {
    const { include_created_keys: includeCreatedKeys } = readRevocationQuery(request.originalUrl);
    const caller = callerOf(request, response);
    const { key, created } = await keys.revokeFor(caller, keyIdOf(request), { includeCreatedKeys });
    return { data: { api_key: toApiKeyWire(key), also_revoked: created.map(toApiKeyWire) } };
  };
}

function issuedResult({ key, text }: IssuedKey): ChangeResult {
  return { data: { api_key: toApiKeyWire(key), secret: text }, secrets: ["secret"], changed: true };
}

/** Throws NotFoundException for malformed ids too. */
function keyIdOf({ params }: Request): string {
  return keyUuid(String(params["id"]));
}
