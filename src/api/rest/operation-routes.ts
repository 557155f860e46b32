/** The routes of operations: authenticates and reads the request, runs the operation, formats the result. */
import { type Request, type RequestHandler, type Response, Router } from "express";
import { type ApiKeyPrincipal, keyHeadersOf, type KeyVerifier, requireApiKey } from "../../api-keys/api.ts";
import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { snakeCase } from "../../core/names.ts";
import { partnerOf } from "../../core/principal.ts";
import { type IdempotencyService, keyedRequest, type KeyedRequest } from "../../idempotency/api.ts";
import { authorize, execute } from "../../operations/admit.ts";
import { isPage, type RestOperation, routeOf } from "../../operations/operation.ts";
import { type RateLimits, takeTokens } from "../../rate-limits/api.ts";
import { FEED_STATUS, simulatedStatuses } from "../../test-mode/api.ts";
import { addRoute, type RouteHandlers } from "../add-route.ts";
import { callerOf, contextOf, duringExternalCall } from "../context.ts";
import { matchesEtag, readJson, toRequestHandler } from "../json.ts";
import type { Simulate } from "../simulate.ts";
import { linkHeader, type ListPosition } from "./link-header.ts";
import { inputReader } from "./read-input.ts";
import { writerOf } from "./wire.ts";

export interface OperationRouteServices {
  clock: Clock;
  idempotency: IdempotencyService;
  verifier: KeyVerifier;
  limits: RateLimits | null;
  simulate: Simulate;
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
      [guard(operation, services), ...bodyParsers(operation), handlerOf(operation, services)],
    ]);
    addRoute(router, patternsOf(path), Object.fromEntries(handlers) as RouteHandlers);
  }
  return router;
}

const LAST_PART = "/{markingNumber}";

/** An empty Marking Number at the end of a path has its own pattern, so that it returns 400 instead of 404. */
function patternsOf(path: string): string[] {
  const paths = path.endsWith(LAST_PART) ? [path, path.slice(0, -LAST_PART.length)] : [path];
  return paths.map((one) => one.replaceAll(/\{(\w+)\}/g, ":$1"));
}

/** Returns the principal of the request's key. Throws as `KeyVerifier.verify`. */
async function verify(verifier: KeyVerifier, { rawHeaders, ip = "" }: Request): Promise<ApiKeyPrincipal> {
  return await verifier.verify(requireApiKey(keyHeadersOf(rawHeaders)), ip);
}

/**
 * Returns a middleware for a router of test mode. A request with a live key leaves the router, so that every method gets the
 * answer of an unknown route. The routes themselves reject invalid keys.
 */
function hideFromLiveKeys(verifier: KeyVerifier): RequestHandler {
  return async (request, _response, next) => {
    const isLive = await verify(verifier, request).then(isLiveKey, () => false);
    next(isLive ? "router" : undefined);
  };
}

const isLiveKey = (principal: ApiKeyPrincipal): boolean =>
  principal.organizationId !== null && principal.liveOrganizationId === undefined;

/**
 * Returns a middleware that requires an organisation's key with the access, limits requests and sets the rate limit headers. After
 * that, test keys can simulate a failure.
 */
function guard(
  { access, rate: kind, text: { errors = [] } }: RestOperation<never>,
  { verifier, limits, simulate }: OperationRouteServices,
): RequestHandler {
  const statuses = errors.includes("GoneException")
    ? ([...simulatedStatuses, FEED_STATUS] as const)
    : simulatedStatuses;
  return async (request, response, next) => {
    const context = contextOf(response);
    const principal = await verify(verifier, request);
    if (principal.organizationId === null)
      throw new AppError(
        "ForbiddenException",
        "Operator keys only work with /graphql; use a key of an organisation",
      );
    context.principal = principal;
    authorize(access, principal);
    if (kind === "batch") context.shareKind = "bulk";
    const { rateBucket: bucketKey, liveOrganizationId: partner, rateLimits } = principal;
    const subject = { kind: "key", bucketKey, partnerId: partnerOf(principal), rateLimits } as const;
    await takeTokens(limits, subject, { kind }, (name, value) => response.setHeader(name, value));
    const verifyAgain = () => verify(verifier, request);
    const isOpen =
      partner === undefined ||
      (await simulate(request, response, { partner, subject, kind, statuses, verifyAgain }));
    if (isOpen) next();
  };
}

function bodyParsers({ rest, text: { body } }: RestOperation<never>): RequestHandler[] {
  if (!body) return [];
  const { maxBodyBytes = MAX_BODY_BYTES } = rest;
  return [readJson(maxBodyBytes, body)];
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
    const principal = callerOf(request, response);
    const call = {
      services,
      keyed: once ? readKey(route, request, principal) : null,
      principal,
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

function readKey(
  route: string,
  request: Request,
  { organizationId, requestId }: ReturnType<typeof callerOf>,
): KeyedRequest | null {
  const key = request.get("idempotency-key");
  if (key === undefined) return null;
  const parts = [request.originalUrl, request.get("if-match") ?? null, request.body as unknown];
  return keyedRequest(key, { organizationId, route, requestId, parts });
}
