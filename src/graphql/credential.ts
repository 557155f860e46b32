/** What the caller of a socket is known by: verified again and again, for as long as the socket lives. */
import type { ConnectionInitMessage } from "graphql-ws";
import type { SessionHolder } from "../accounts/session.holder.ts";
import { keyRequired, type KeyVerifier } from "../api-keys/api-key.verifier.ts";
import { findPresentedKey, type PresentedHeaders } from "../api-keys/presented-key.ts";
import type { Holder } from "./holder.ts";
import type { Sessions } from "./sessions.ts";

export interface Credential {
  /** The same for those whom one verification speaks for. */
  readonly name: string;
  /** Throws UnauthorizedException and ForbiddenException where it is not good any more. */
  verify(): Promise<Holder>;
}

/** What a socket brought when it was opened. */
export interface Opening {
  readonly address: string;
  readonly request: { readonly headers: PresentedHeaders };
}

type InitPayload = ConnectionInitMessage["payload"];

export interface CredentialParts {
  verifier: Pick<KeyVerifier, "verify">;
  sessions: Sessions;
}

/**
 * Finds what whoever opened a socket is known by: a key, or else the session whose cookie came when it was opened, and then
 * from a page of our own. Throws UnauthorizedException where there is neither.
 */
export function createCredentials({
  verifier,
  sessions,
}: CredentialParts): (opening: Opening, init: InitPayload) => Promise<Credential> {
  const roll = new SessionRoll(sessions);
  return async ({ address, request: { headers } }, init) => {
    const key = findPresentedKey(presentedBy(init, headers));
    if (key !== null) return { name: `${key} ${address}`, verify: () => verifier.verify(key, address) };
    if (!sessions.isPresented(headers)) throw keyRequired();
    sessions.requireOwnPage(headers);
    const { sessionId } = await sessions.verify(headers, address);
    return { name: sessionId, verify: () => roll.recheck(sessionId) };
  };
}

/** The key is in `connection_init`, whatever the case of its name; or else, from what is no browser, in the request's headers. */
function presentedBy(init: InitPayload, headers: PresentedHeaders): PresentedHeaders {
  const given = Object.entries(init ?? {}).flatMap(([name, value]) => {
    const isKey = /^(x-api-key|authorization)$/i.test(name);
    return isKey && typeof value === "string" ? [[name.toLowerCase(), value] as const] : [];
  });
  return given.length > 0 ? Object.fromEntries(given) : headers;
}

/** With the half second between two looks at each socket, a session's end reaches it within a second. */
const BELIEVED_MS = 300;

/** Sessions behind sockets, each believed for a short while: an event to many subscriptions must not ask for it many times. */
class SessionRoll {
  readonly #sessions: Pick<Sessions, "recheck">;
  readonly #known = new Map<string, { holder: Promise<SessionHolder>; untilMs: number }>();

  constructor(sessions: Pick<Sessions, "recheck">) {
    this.#sessions = sessions;
  }

  recheck(sessionId: string): Promise<SessionHolder> {
    const nowMs = performance.now();
    this.#forget(nowMs);
    const known = this.#known.get(sessionId);
    if (known) return known.holder;
    const holder = this.#sessions.recheck(sessionId);
    this.#known.set(sessionId, { holder, untilMs: nowMs + BELIEVED_MS });
    return holder;
  }

  /** They stand in the order in which they end. */
  #forget(nowMs: number): void {
    for (const [id, { untilMs }] of this.#known) {
      if (untilMs > nowMs) return;
      this.#known.delete(id);
    }
  }
}
