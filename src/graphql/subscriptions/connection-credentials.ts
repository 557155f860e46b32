/** What the caller of a socket is known by: verified again and again, for as long as the socket lives. */
import type { ConnectionInitMessage } from "graphql-ws";
import type { SessionPrincipal } from "../../accounts/api.ts";
import { type CredentialHeaders, findApiKey, keyRequired, type KeyVerifier } from "../../api-keys/api.ts";
import type { AuthenticatedPrincipal } from "../principal.ts";
import type { SessionAuthenticator } from "../sessions.ts";

export interface ConnectionCredential {
  /** The same for those whom one verification speaks for. */
  readonly groupKey: string;
  /** Throws UnauthorizedException and ForbiddenException where it is not good any more. */
  verify(): Promise<AuthenticatedPrincipal>;
}

/** What a socket brought when it was opened. */
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
 * Finds what whoever opened a socket is known by: a key, or else the session whose cookie came when it was opened, and then
 * from a page of our own. Throws UnauthorizedException where there is neither.
 */
export function createCredentialResolver({
  verifier,
  sessions,
}: CredentialDeps): (opening: Handshake, init: InitPayload) => Promise<ConnectionCredential> {
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

/** The key is in `connection_init`, whatever the case of its name; or else, from what is no browser, in the request's headers. */
function credentialHeaders(init: InitPayload, headers: CredentialHeaders): CredentialHeaders {
  const given = Object.entries(init ?? {}).flatMap(([name, value]) => {
    const isKey = /^(x-api-key|authorization)$/i.test(name);
    return isKey && typeof value === "string" ? [[name.toLowerCase(), value] as const] : [];
  });
  return given.length > 0 ? Object.fromEntries(given) : headers;
}

/** With the half second between two looks at each socket, a session's end reaches it within a second. */
const SESSION_TTL_MS = 300;

/** Sessions behind sockets, each believed for a short while: an event to many subscriptions must not ask for it many times. */
class SessionCache {
  readonly #sessions: Pick<SessionAuthenticator, "revalidate">;
  readonly #entries = new Map<string, { holder: Promise<SessionPrincipal>; untilMs: number }>();

  constructor(sessions: Pick<SessionAuthenticator, "revalidate">) {
    this.#sessions = sessions;
  }

  revalidate(sessionId: string): Promise<SessionPrincipal> {
    const nowMs = performance.now();
    this.#evictExpired(nowMs);
    const cached = this.#entries.get(sessionId);
    if (cached) return cached.holder;
    const principal = this.#sessions.revalidate(sessionId);
    this.#entries.set(sessionId, { holder: principal, untilMs: nowMs + SESSION_TTL_MS });
    return principal;
  }

  /** They stand in the order in which they end. */
  #evictExpired(nowMs: number): void {
    for (const [id, { untilMs }] of this.#entries) {
      if (untilMs > nowMs) return;
      this.#entries.delete(id);
    }
  }
}
