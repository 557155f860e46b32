/** The routes of operations: reads the request, runs the operation, formats the result. */
import { createHash } from "node:crypto";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { KeyVerifier } from "../../api-keys/api.ts";
import type { Clock } from "../../core/clock.ts";
import { badRequest, problemIn } from "../../core/errors.ts";
import { isObject } from "../../core/json.ts";
import { snakeCase } from "../../core/names.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import type { IdempotencyService, KeyedRequest } from "../../idempotency/api.ts";
import { admit } from "../../operations/admit.ts";
import { isPage, type RestOperation } from "../../operations/operation.ts";
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
  const { idempotency, baseUrl } = services;
  const route = `${rest.method.toUpperCase()} /v1${rest.path}`;
  const readInput = inputReader(operation);
  const read = (request: Request, response: Response) => {
    const { ignored = [], ...input } = readInput(request);
    contextOf(response).ignoredParameters = ignored;
    // Here, so that a failure has the header too.
    response.setHeaders(new Map(Object.entries(namesHeader("X-Ignored-Parameters", ignored))));
    return input;
  };
  const write = writerOf(output);
  const secrets = (once?.secrets ?? []).map(snakeCase);
  const hasLink = isPage(operation);

  return toRequestHandler(async (request, response) => {
    const keyed = once ? keyedRequest(route, request, response) : null;
    // Preparing can take long, so it runs before the transaction, and not for a repeated request.
    const replay = keyed && operation.prepare ? await idempotency.findReplay(keyed) : null;
    if (replay) return replay;
    const admitRequest = (tx?: Transaction) =>
      admit(operation, {
        services,
        principal: callerOf(request, response),
        input: read(request, response),
        external: (call) => duringExternalCall(response, call),
        organizationId: null,
        tx,
      });
    const prepared = operation.prepare && (await admitRequest());
    const run = async (tx?: Transaction) => {
      const change = prepared ?? (await admitRequest(tx));
      const { data, version, ignored, changed } = await change(tx);
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
    };
    return await (keyed === null ? run() : idempotency.runOnce(keyed, run));
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

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** Returns null for a request without Idempotency-Key. Throws BadRequestException for a malformed one. */
function keyedRequest(route: string, request: Request, response: Response): KeyedRequest | null {
  const key = request.get("idempotency-key");
  if (key === undefined) return null;
  if (!KEY_PATTERN.test(key)) {
    const message = "must be 1 to 255 visible ASCII characters";
    throw badRequest([problemIn("header")("Idempotency-Key", "malformed", message)]);
  }
  const { organizationId } = principalOf(response);
  const { requestId } = contextOf(response);
  return { organizationId, route, key, requestId, fingerprint: fingerprintOf(request) };
}

/** SHA-256 of path, query, If-Match and the values of the body. */
function fingerprintOf({ originalUrl, headers, body }: Request & { body?: unknown }): Buffer {
  const request = JSON.stringify([originalUrl, headers["if-match"] ?? null, sorted(body)]);
  return createHash("sha256").update(request).digest();
}

/** Deeper than any value that an operation reads. */
const MAX_DEPTH = 10;

/** Returns the value with the names of its objects in order, and without what is nested too deeply. */
function sorted(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => sorted(item, depth + 1));
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name], depth + 1)]));
}
