/** The routes of operations: reads the request, runs the operation, formats the result. */
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { KeyVerifier } from "../../api-keys/api.ts";
import type { Clock } from "../../core/clock.ts";
import { snakeCase } from "../../core/names.ts";
import { type IdempotencyService, keyedRequest, type KeyedRequest } from "../../idempotency/api.ts";
import { execute } from "../../operations/execute.ts";
import { isPage, type RestOperation, routeOf } from "../../operations/operation.ts";
import { addRoute, type RouteHandlers } from "../add-route.ts";
import { callerOf, contextOf, principalOf, duringExternalCall } from "../context.ts";
import { matchesEtag, readJson, readOptionalJson, toRequestHandler } from "../json.ts";
import { type ApiKeyGuards, hideFromLiveKeys } from "./api-key-guards.ts";
import { linkHeader, type ListPosition } from "./link-header.ts";
import { inputReader } from "./read-input.ts";
import { writerOf } from "./wire.ts";

export interface OperationRouteServices {
  clock: Clock;
  idempotency: IdempotencyService;
  guards: ApiKeyGuards;
  verifier: KeyVerifier;
  /** Prefix of the URLs in `Link`: empty, or the public URL of the service. */
  baseUrl: string;
}

const MAX_BODY_BYTES = 64 * 1024;

/** Returns the routes of all operations. Other methods of their paths return 405. */
export function operationRoutes<Services>(
  operations: readonly RestOperation<Services>[],
  services: Services & OperationRouteServices,
): Router {
  const router = Router({ caseSensitive: true });
  router.use("/test", hideFromLiveKeys(services.verifier));
  const byPath = Map.groupBy(operations, ({ rest }) => rest.path);
  for (const [path, ofPath] of byPath) {
    const handlers = ofPath.map((operation) => [
      operation.rest.method,
      [...services.guards(operation), ...bodyParsers(operation), handlerOf(operation, services)],
    ]);
    const route = { path: patternsOf(path), name: `/v1${path}` };
    addRoute(router, route, Object.fromEntries(handlers) as RouteHandlers);
  }
  return router;
}

const LAST_PART = "/{markingNumber}";

/** An empty Marking Number at the end of a path has its own pattern, so that it returns 400 instead of 404. */
function patternsOf(path: string): string[] {
  const paths = path.endsWith(LAST_PART) ? [path, path.slice(0, -LAST_PART.length)] : [path];
  return paths.map((one) => one.replaceAll(/\{(\w+)\}/g, ":$1"));
}

function bodyParsers({ rest, text: { body } }: RestOperation<never>): RequestHandler[] {
  if (!body) return [];
  const { maxBodyBytes = MAX_BODY_BYTES } = rest;
  return [body.isOptional ? readOptionalJson(maxBodyBytes) : readJson(maxBodyBytes)];
}

function handlerOf<Services>(
  operation: RestOperation<Services>,
  services: Services & OperationRouteServices,
): RequestHandler {
  const { rest, once, output, versioned = false } = operation;
  const { baseUrl } = services;
  const route = routeOf(operation);
  const readInput = inputReader(operation);
  const read = (request: Request, response: Response) => {
    const { ignored = [], ...input } = readInput(request);
    contextOf(response).ignoredParameters = ignored;
    // Here, so that a failure has the header too.
    if (ignored.length > 0) response.set(namesHeader("X-Ignored-Parameters", ignored));
    return input;
  };
  const write = writerOf(output);
  const secrets = (once?.secrets ?? []).map(snakeCase);
  const hasLink = isPage(operation);

  return toRequestHandler(async (request, response) => {
    const call = {
      services,
      keyed: once ? readKey(route, request, response) : null,
      principal: callerOf(request, response),
      input: read(request, response),
      external: <T>(work: () => Promise<T>) => duringExternalCall(response, work),
      organizationId: null,
    };
    return await execute(operation, call, ({ data, version, ignored, changed }) => {
      const etag = versioned && version !== null ? `"${version}"` : null;
      return {
        data: write(data),
        headers: {
          ...(etag !== null && { ETag: etag }),
          ...(hasLink && linkHeader(baseUrl + request.originalUrl, (data as Page).pagination)),
          ...namesHeader("X-Ignored-Fields", ignored),
        },
        isNotModified: rest.method === "get" && etag !== null && matchesEtag(request, etag),
        secrets,
        changed,
      };
    });
  }, rest.status);
}

interface Page {
  readonly pagination: ListPosition;
}

/** In characters. Clients limit the size of response headers, and a body may have many keys. */
const MAX_HEADER_LENGTH = 4_000;

/** Returns a header with the first of `names` that fit, percent-encoded because the client chose them. */
function namesHeader(header: string, names: readonly string[]): Record<string, string> {
  let list = "";
  for (const name of names) {
    const next = (list === "" ? "" : ", ") + encodeURIComponent(name.slice(0, 100).toWellFormed());
    if (list.length + next.length > MAX_HEADER_LENGTH) break;
    list += next;
  }
  return list === "" ? {} : { [header]: list };
}

function readKey(route: string, request: Request, response: Response): KeyedRequest | null {
  const { organizationId } = principalOf(response);
  const { requestId } = contextOf(response);
  const parts = [request.originalUrl, request.get("if-match") ?? null, request.body as unknown];
  return keyedRequest(request.get("idempotency-key"), { organizationId, route, requestId, parts });
}
