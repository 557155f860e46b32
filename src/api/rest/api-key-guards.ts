/** Middlewares of every v1 route: authentication by API key, scopes and rate limit. */
import type { Request, RequestHandler } from "express";
import { type ApiKeyPrincipal, keyHeadersOf, type KeyVerifier, requireApiKey } from "../../api-keys/api.ts";
import { AppError } from "../../core/errors.ts";
import { partnerOf } from "../../core/principal.ts";
import { authorize } from "../../operations/admit.ts";
import type { RestOperation } from "../../operations/operation.ts";
import { type RateLimits, takeTokens } from "../../rate-limits/api.ts";
import { FEED_STATUS, simulatedStatuses } from "../../test-mode/api.ts";
import { contextOf, principalOf } from "../context.ts";
import type { Simulate } from "../simulate.ts";

type GuardedOperation = Pick<RestOperation<never>, "access" | "rate" | "text">;

/** Returns the guards of an operation's route, which takes tokens of its rate class and requires a key with its access. */
export type ApiKeyGuards = (operation: GuardedOperation) => RequestHandler[];

interface GuardDeps {
  verifier: KeyVerifier;
  limits: RateLimits | null;
}

export function createApiKeyGuards({ verifier, limits }: GuardDeps, simulate: Simulate): ApiKeyGuards {
  return (operation) => [
    authenticate(verifier, operation),
    rateLimit({ verifier, limits }, operation, simulate),
  ];
}

/**
 * Returns a middleware for a router of test mode. A request with a live key leaves the router, so that every method gets the
 * answer of an unknown route. The routes themselves reject invalid keys.
 */
export function hideFromLiveKeys(verifier: KeyVerifier): RequestHandler {
  return async (request, _response, next) => {
    const isLive = await verify(verifier, request).then(isLiveKey, () => false);
    next(isLive ? "router" : undefined);
  };
}

const isLiveKey = (principal: ApiKeyPrincipal): boolean =>
  principal.organizationId !== null && principal.liveOrganizationId === undefined;

/** Returns the principal of the request's key. Throws as `KeyVerifier.verify`. */
async function verify(verifier: KeyVerifier, { rawHeaders, ip = "" }: Request): Promise<ApiKeyPrincipal> {
  return await verifier.verify(requireApiKey(keyHeadersOf(rawHeaders)), ip);
}

/** Returns a middleware that requires an organisation's key with the access; otherwise 401 or 403. */
function authenticate(verifier: KeyVerifier, { access }: GuardedOperation): RequestHandler {
  return async (request, response, next) => {
    const principal = await verify(verifier, request);
    if (principal.organizationId === null)
      throw new AppError(
        "ForbiddenException",
        "Operator keys only work with /graphql; use a key of an organisation",
      );
    contextOf(response).principal = principal;
    authorize(access, principal);
    next();
  };
}

/** Limits requests and sets the rate limit headers. After that, test keys can simulate a failure. */
function rateLimit(
  { verifier, limits }: GuardDeps,
  { rate: kind, text: { errors = [] } }: GuardedOperation,
  simulate: Simulate,
): RequestHandler {
  const statuses = errors.includes("GoneException")
    ? ([...simulatedStatuses, FEED_STATUS] as const)
    : simulatedStatuses;
  return async (request, response, next) => {
    const principal = principalOf(response);
    const { rateBucket: bucketKey, liveOrganizationId: partner, rateLimits } = principal;
    if (kind === "batch") contextOf(response).shareKind = "bulk";
    const subject = { kind: "key", bucketKey, partnerId: partnerOf(principal), rateLimits } as const;
    await takeTokens(limits, subject, { kind }, (name, value) => response.setHeader(name, value));
    const isOpen =
      partner === undefined ||
      (await simulate(request, response, {
        partner,
        subject,
        kind,
        statuses,
        verifyAgain: () => verify(verifier, request),
      }));
    if (isOpen) next();
  };
}
