/** Who is asking, found out and counted before anything of the operation is read. */
import type { Request, RequestHandler } from "express";
import { findApiKey, keyRequired, type KeyVerifier } from "../api-keys/api.ts";
import { type RateLimits, type RateLimitSubject, takeToken } from "../rate-limits/api.ts";
import { networkOf } from "../platform/network.ts";
import { rateLimitSubjectOf, type AuthenticatedPrincipal } from "./principal.ts";
import type { AdapterHost } from "./adapter-host.ts";
import type { SessionAuthenticator } from "./sessions.ts";
import { runWithRequest, type RequestStore } from "./request-store.ts";

export interface AuthenticationDeps {
  verifier: KeyVerifier;
  sessions: SessionAuthenticator;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
  isProduction: boolean;
}

/** Finds whoever asks, by key or else by session. Null: nobody known, who outside production comes as far as introspection. */
function createPrincipalResolver({
  verifier,
  sessions,
  isProduction,
}: Omit<AuthenticationDeps, "limits">): (request: Request) => Promise<AuthenticatedPrincipal | null> {
  return async ({ headers, ip = "" }) => {
    const key = findApiKey(headers);
    if (key !== null) return await verifier.verify(key, ip);
    if (sessions.hasSessionCookie(headers)) {
      sessions.requireSameOrigin(headers);
      return await sessions.verify(headers, ip);
    }
    if (isProduction) throw keyRequired();
    return null;
  };
}

/** Introspection without a key: enough for a page that reads the schema again every second. */
const ANONYMOUS_LIMIT = { perSecond: 5, burst: 50 };

/** Requests without a key share a bucket for each network. */
function anonymousSubject({ ip = "" }: Request): RateLimitSubject {
  const bucketKey = `anonymous:${networkOf(ip)}`;
  return { kind: "network", bucketKey, organizationId: null, rateLimits: { read: ANONYMOUS_LIMIT } };
}

/** Begins the visit. In production nobody unknown comes further. */
export function authenticate(deps: AuthenticationDeps, host: AdapterHost): RequestHandler {
  const identify = createPrincipalResolver(deps);
  return async (request, response, next) => {
    const setHeader = (name: string, value: string): void => void response.setHeader(name, value);
    const principal = await identify(request);
    host.setPrincipal(response, principal);
    const subject = principal ? rateLimitSubjectOf(principal) : anonymousSubject(request);
    await takeToken(deps.limits, subject, "read", setHeader);
    const disconnected = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) disconnected.abort();
    });
    const requestId = host.requestIdOf(response);
    const { ip: address = null } = request;
    const setFailure: RequestStore["setFailure"] = (failure) => host.setFailure(response, failure);
    const duringExternalCall: RequestStore["duringExternalCall"] = (call) =>
      host.duringExternalCall(response, call);
    const { signal } = disconnected;
    runWithRequest(
      { requestId, address, principal, signal, setHeader, duringExternalCall, setFailure, measured: null },
      next,
    );
  };
}
