/** Who asks for a key, as they are now, and what a key that they make may do at most: no more than themselves. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { Origin } from "../accounts/audit.service.ts";
import { User } from "../accounts/user.entity.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { toTypedId } from "../platform/ids.ts";
import type { Authenticated } from "../platform/fresh-authentication.ts";
import type { Viewer } from "../platform/principal.ts";
import { ApiKey, type KeyRateLimits, type Scope } from "./api-key.entity.ts";
import { unauthorized } from "./api-key.verifier.ts";
import { isInside } from "./cidr.ts";

/** A key, or, where there is none, the person who acts. */
export type Asking = Viewer &
  Authenticated &
  Partial<Origin> & { readonly keyId: string | null; readonly scopes: readonly Scope[] };

/** What a key may do, from where and until when; absent or null: everywhere, always. */
export interface Bounds {
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | null | undefined;
  readonly cidrs?: readonly string[] | null | undefined;
}

export interface Asker extends Bounds {
  /** Typed: what the keys that it makes are created by. */
  readonly name: string;
  readonly isPerson: boolean;
  readonly rateLimits: KeyRateLimits | null;
}

/**
 * The one who asks, read again: a process may believe for a second that a key is good or a person a member, and nothing
 * may outlive itself by what it makes then. Throws UnauthorizedException and ForbiddenException.
 */
export function askerOf(em: EntityManager, clock: Clock, asking: Asking): Promise<Asker> {
  return asking.keyId === null ? personOf(em, asking) : keyOf(em, clock, asking.keyId);
}

async function keyOf(em: EntityManager, clock: Clock, id: string): Promise<Asker> {
  const key = await em.findOne(ApiKey, { id, revokedAt: null });
  if (!key || (key.expiresAt && key.expiresAt.getTime() <= clock.now()))
    throw unauthorized("The API key is not valid");
  const { scopes, expiresAt, cidrs, rateLimits = null } = key;
  return { name: toTypedId("key", id), isPerson: false, scopes, expiresAt, cidrs, rateLimits };
}

async function personOf(em: EntityManager, { actor, organizationId, scopes }: Asking): Promise<Asker> {
  const { id } = actor;
  const person = id === null ? null : await em.findOne(User, { id, organization: organizationId });
  if (!id || !person) throw unauthorized("You are not a member any more");
  if (person.role === "member") throw forbidden("Keys are managed by the owners of your organisation");
  return { name: toTypedId("usr", id), isPerson: true, scopes, rateLimits: null };
}

/** Throws ForbiddenException where a key with these bounds could do more than `asker`. */
export function requireNoMore(asker: Asker, { scopes, expiresAt, cidrs }: Bounds): void {
  requireScopes(asker, scopes);
  if (asker.expiresAt && (!expiresAt || expiresAt > asker.expiresAt)) {
    throw forbidden(`The key must end no later than the key that asks: ${asker.expiresAt.toISOString()}`);
  }
  const own = asker.cidrs;
  if (own && !cidrs?.every((range) => own.some((outer) => isInside(range, outer)))) {
    throw forbidden(`The key must be used only from where the key that asks may be: ${own.join(", ")}`);
  }
}

export function requireScopes(asker: Asker, scopes: readonly Scope[]): void {
  const more = scopes.filter((scope) => !asker.scopes.includes(scope));
  if (more.length === 0) return;
  const who = asker.isPerson ? "Your role" : "The key that asks";
  throw forbidden(`${who} does not have the scope ${more.join(", ")}`);
}

function forbidden(sentence: string): AppError {
  return new AppError("ForbiddenException", sentence);
}
