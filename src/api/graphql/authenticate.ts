/** Authenticates and rate-limits a GraphQL request before its body is read. */
import type { Request, RequestHandler } from "express";
import { findApiKey, keyHeadersOf, keyRequired, type KeyVerifier } from "../../api-keys/api.ts";
import { type RateLimits, type RateLimitSubject, takeTokens } from "../../rate-limits/api.ts";
import { networkOf } from "../../core/network.ts";
import { rateLimitSubjectOf, type AuthenticatedPrincipal } from "./authenticated-principal.ts";
import { parseSessionMode, SESSION_MODE_HEADER, type SessionVerifier } from "../../accounts/api.ts";
import { BODY_BYTES_PER_TOKEN, MAX_BODY_BYTES } from "./execution/limits.ts";
import { contextOf, disconnectSignal } from "../context.ts";
import type { Simulate } from "../simulate.ts";
import { runWithRequest } from "./context.ts";

export interface AuthenticationDeps {
  verifier: KeyVerifier;
  sessions: SessionVerifier;
  limits: RateLimits | null;
  isProduction: boolean;
}

/** Returns the principal of the API key or session, or null for an anonymous request (not in production), which may only introspect. */
async function identify(
  { verifier, sessions, isProduction }: AuthenticationDeps,
  { headers, rawHeaders, ip = "" }: Request,
): Promise<AuthenticatedPrincipal | null> {
  const key = findApiKey(keyHeadersOf(rawHeaders));
  if (key !== null) return await verifier.verify(key, ip);
  if (sessions.hasSessionCookie(headers)) {
    sessions.requireSameOrigin(headers);
    return await sessions.verify(headers, ip, parseSessionMode(headers[SESSION_MODE_HEADER]));
  }
  if (isProduction) throw keyRequired();
  return null;
}

/** Enough for a tool that polls the schema every second without a key. */
const ANONYMOUS_LIMIT = { perSecond: 5, burst: 50 };

/** Anonymous requests share one bucket per network. */
function anonymousSubject({ ip = "" }: Request): RateLimitSubject {
  const bucketKey = `anonymous:${networkOf(ip)}`;
  return { kind: "network", bucketKey, partnerId: null, rateLimits: { read: ANONYMOUS_LIMIT } };
}

/** Returns the live organisation of a test key; undefined for all other principals. */
function partnerOfTestKey(principal: AuthenticatedPrincipal | null): string | undefined {
  const isKey = principal && principal.keyId !== null && principal.organizationId !== null;
  return isKey ? principal.liveOrganizationId : undefined;
}

/** The failures of GraphQL requests that are HTTP failures. Conflicts are in `userErrors`. */
const STATUSES = ["401", "403", "429", "500", "503"] as const;

/** By the size of the body, which may not have arrived. One that is sent in chunks or compressed can have any size. */
function countTokens({ headers }: Request): number {
  const isUnknown = headers["transfer-encoding"] !== undefined || headers["content-encoding"] !== undefined;
  const bytes = isUnknown ? MAX_BODY_BYTES : Number(headers["content-length"] ?? 0);
  return 1 + Math.floor(Math.min(bytes, MAX_BODY_BYTES) / BODY_BYTES_PER_TOKEN);
}

/** Runs the following handlers inside the request store. In production, rejects anonymous requests with 401. */
export function authenticate(deps: AuthenticationDeps, simulate: Simulate): RequestHandler {
  return async (request, response, next) => {
    const principal = await identify(deps, request);
    const context = contextOf(response);
    context.principal = principal;
    const subject = principal ? rateLimitSubjectOf(principal) : anonymousSubject(request);
    const tokens = { kind: "read", count: countTokens(request) } as const;
    await takeTokens(deps.limits, subject, tokens, (name, value) => response.setHeader(name, value));
    const partner = partnerOfTestKey(principal);
    const isOpen =
      partner === undefined ||
      (await simulate(request, response, {
        partner,
        subject,
        kind: "read",
        statuses: STATUSES,
        verifyAgain: () => identify(deps, request),
      }));
    if (!isOpen) return;
    runWithRequest(
      {
        response,
        requestId: context.requestId,
        ipAddress: request.ip ?? null,
        principal,
        signal: disconnectSignal(response),
      },
      next,
    );
  };
}
