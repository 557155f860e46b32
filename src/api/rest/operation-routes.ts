/** The routes of operations: reads the request, runs the operation, formats the result. */
import { type Request, type RequestHandler, Router } from "express";
import type { z } from "zod";
import type { KeyVerifier } from "../../api-keys/api.ts";
import type { Clock } from "../../core/clock.ts";
import { snakeCase } from "../../core/names.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import type { IdempotencyService } from "../../idempotency/api.ts";
import { admit, type ReadInput, parseInput } from "../../operations/admit.ts";
import { isPage, type Operation, takesQuery } from "../../operations/operation.ts";
import { addRoute, type RouteHandlers } from "../add-route.ts";
import { callerOf } from "../context.ts";
import { duringExternalCall } from "../in-share.ts";
import { objectBody, readJson, readOptionalJson, toRequestHandler } from "../json.ts";
import { type ApiKeyGuards, hideFromLiveKeys } from "./api-key-guards.ts";
import { MAX_JSON_BYTES, unknownMembers } from "./body.ts";
import { keyedRequest } from "./idempotent.ts";
import { cursorLinkHeader } from "./link-header.ts";
import { markingNumberOf, readQuery } from "./parameters.ts";
import { readerOf, wireSchema, writerOf } from "./wire.ts";

export interface OperationRouteServices {
  clock: Clock;
  idempotency: IdempotencyService;
  guards: ApiKeyGuards;
  verifier: KeyVerifier;
  /** Prefix of the URLs in `Link`: empty, or the public URL of the service. */
  baseUrl: string;
}

/** Returns the routes of all operations. Other methods of their paths return 405. */
export function operationRoutes<Services>(
  operations: readonly Operation<Services>[],
  services: Services & OperationRouteServices,
): Router {
  const router = Router({ caseSensitive: true });
  router.use("/test", hideFromLiveKeys(services.verifier));
  const byPath = Map.groupBy(operations, ({ rest }) => rest.path);
  for (const [path, ofPath] of byPath) {
    const name = `/v1${path}`;
    const handlers = ofPath.map((operation) => [
      operation.rest.method,
      [
        ...services.guards(operation.rate, operation.access.scopes),
        ...bodyParsers(operation),
        handlerOf(operation, services),
      ],
    ]);
    const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
    addRoute(router, { path: pattern, name }, Object.fromEntries(handlers) as RouteHandlers);
  }
  return router;
}

function bodyParsers({ text: { body } }: Operation<never>): RequestHandler[] {
  if (!body) return [];
  return [body.isOptional ? readOptionalJson(MAX_JSON_BYTES) : readJson(MAX_JSON_BYTES)];
}

function handlerOf<Services>(
  operation: Operation<Services>,
  services: Services & OperationRouteServices,
): RequestHandler {
  const { rest, once, output } = operation;
  const { idempotency, baseUrl } = services;
  const route = `${rest.method.toUpperCase()} /v1${rest.path}`;
  const readInput = inputReader(operation);
  const write = writerOf(output);
  const secrets = (once?.secrets ?? []).map(snakeCase);
  const hasLink = isPage(operation);

  return toRequestHandler(async (request, response) => {
    const keyed = once ? keyedRequest(route, request, response) : null;
    // Preparing can take long, so it runs before the transaction, and not for a repeated request.
    const replay = keyed && operation.prepare ? await idempotency.findReplay(keyed) : null;
    if (replay) return replay;
    const admitRequest = () =>
      admit(operation, {
        services,
        principal: callerOf(request, response),
        input: readInput(request),
        external: (call) => duringExternalCall(response, call),
        organizationId: null,
      });
    const prepared = operation.prepare && (await admitRequest());
    const run = async (tx?: Transaction) => {
      const change = prepared ?? (await admitRequest());
      const result = await change(tx);
      return {
        data: write(result),
        ...(hasLink && { headers: linkHeader(baseUrl + request.originalUrl, result) }),
        secrets,
        changed: once?.hasChanged?.(result) ?? true,
      };
    };
    return await (keyed === null ? run() : idempotency.runOnce(keyed, run));
  }, rest.status);
}

function linkHeader(url: string, result: unknown): Record<string, string> {
  const { pagination } = result as { pagination: { nextCursor: string | null } };
  return cursorLinkHeader(url, pagination.nextCursor);
}

/** Returns a function that reads the path, and the query or the body, with all their problems. */
function inputReader({ rest, params, input, text }: Operation<never>): (request: Request) => ReadInput {
  const schema = wireSchema(input);
  const known = Object.keys(schema.shape);
  const rename = readerOf(input);
  const names = new Set(known);
  const members = Object.entries<z.ZodType>(schema.shape);
  // Lists may be repeated.
  const lists = new Set(
    members.flatMap(([name, member]) => (member.meta()?.["type"] === "array" ? [name] : [])),
  );
  const hasQuery = takesQuery(rest);
  const query = (url: string) => {
    const { parameters, problems } = readQuery(url, names, lists);
    return { raw: Object.fromEntries(parameters), problems };
  };
  const body = (request: Request) => {
    const raw = objectBody(request);
    return { raw, problems: unknownMembers(known, raw) };
  };
  return (request) => {
    // Its message names the Marking Number.
    if ("markingNumber" in params.shape) markingNumberOf(request);
    const path = parseInput(params, request.params, "path");
    if (!hasQuery && !text.body) return path;
    const { raw, problems } = hasQuery ? query(request.originalUrl) : body(request);
    const read = parseInput(schema, raw, hasQuery ? "query" : "body");
    return {
      values: { ...path.values, ...(rename(read.values) as object) },
      problems: [...path.problems, ...read.problems, ...problems],
    };
  };
}
