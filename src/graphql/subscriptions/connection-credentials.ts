/** Credentials of WebSocket connections. They are verified again as long as the connection is open. */
import type { ConnectionInitMessage } from "graphql-ws";
import type { SessionPrincipal } from "../../accounts/api.ts";
import { type CredentialHeaders, findApiKey, keyRequired, type KeyVerifier } from "../../api-keys/api.ts";
import type { AuthenticatedPrincipal } from "../principal.ts";
import type { SessionAuthenticator } from "../sessions.ts";

export interface ConnectionCredential {
  /** Connections with equal keys share one verification. */
  readonly groupKey: string;
  /** Throws UnauthorizedException or ForbiddenException if the credential is no longer valid. */
  verify(): Promise<AuthenticatedPrincipal>;
}

/** The connection's IP address and its upgrade request. */
export interface Handshake {
  readonly ipAddress: string;
  readonly request: { readonly headers: CredentialHeaders };
}

type InitPayload = ConnectionInitMessage["payload"];

export interface CredentialDeps {
  verifier: Pick<KeyVerifier, "verify">;
  sessions: SessionAuthenticator;
}

/**
 * Returns a function that finds the API key or, without one, the session cookie of a connection. It throws
 * UnauthorizedException without either, and ForbiddenException for a session cookie sent by a page of another origin.
 */
export function createCredentialResolver({
  verifier,
  sessions,
}: CredentialDeps): (handshake: Handshake, init: InitPayload) => Promise<ConnectionCredential> {
  const sessionCache = new SessionCache(sessions);
  return async ({ ipAddress, request: { headers } }, init) => {
    const key = findApiKey(credentialHeaders(init, headers));
    if (key !== null)
      return { groupKey: `${key} ${ipAddress}`, verify: () => verifier.verify(key, ipAddress) };
    if (!sessions.hasSessionCookie(headers)) throw keyRequired();
    sessions.requireSameOrigin(headers);
    const { sessionId } = await sessions.verify(headers, ipAddress);
    return { groupKey: sessionId, verify: () => sessionCache.revalidate(sessionId) };
  };
}

/** Returns the key headers of `connection_init` (any case), or the upgrade request's headers, which only non-browsers can set. */
function credentialHeaders(init: InitPayload, headers: CredentialHeaders): CredentialHeaders {
  const initHeaders = Object.entries(init ?? {}).flatMap(([name, value]) => {
    const isKey = /^(x-api-key|authorization)$/i.test(name);
    return isKey && typeof value === "string" ? [[name.toLowerCase(), value] as const] : [];
  });
  return initHeaders.length > 0 ? Object.fromEntries(initHeaders) : headers;
}

/** Together with `revalidateIntervalMs`, connections close within a second of their session's end. */
const SESSION_TTL_MS = 300;

/** Caches session checks briefly, so that an event for many subscriptions does not check one session many times. */
class SessionCache {
  readonly #sessions: Pick<SessionAuthenticator, "revalidate">;
  readonly #entries = new Map<string, { principal: Promise<SessionPrincipal>; expiresMs: number }>();

  constructor(sessions: Pick<SessionAuthenticator, "revalidate">) {
    this.#sessions = sessions;
  }

  revalidate(sessionId: string): Promise<SessionPrincipal> {
    const nowMs = performance.now();
    this.#evictExpired(nowMs);
    const cached = this.#entries.get(sessionId);
    if (cached) return cached.principal;
    const principal = this.#sessions.revalidate(sessionId);
    this.#entries.set(sessionId, { principal, expiresMs: nowMs + SESSION_TTL_MS });
    return principal;
  }

  /** Entries are ordered by expiry time. */
  #evictExpired(nowMs: number): void {
    for (const [id, { expiresMs }] of this.#entries) {
      if (expiresMs > nowMs) return;
      this.#entries.delete(id);
    }
  }
}
