/** Who asks for a key, as they are now, and what a key that they make may do at most: no more than themselves. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { AuditSource } from "../audit/api.ts";
import { User } from "../organizations/api.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { toTypedId } from "../platform/ids.ts";
import type { AuthenticatedActor } from "../platform/fresh-authentication.ts";
import type { Principal } from "../platform/principal.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import { ApiKey, type Scope } from "./api-key.entity.ts";
import { unauthorized } from "./api-key.verifier.ts";
import { isSubnetOf } from "../platform/cidr.ts";

/** A key, or, where there is none, the person who acts. */
export type GrantorPrincipal = Principal &
  AuthenticatedActor &
  Partial<AuditSource> & { readonly keyId: string | null; readonly scopes: readonly Scope[] };

/** What a key may do, from where and until when; absent or null: everywhere, always. */
export interface KeyGrant {
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | null | undefined;
  readonly cidrs?: readonly string[] | null | undefined;
}

export interface Grantor extends KeyGrant {
  /** Typed: what the keys that it makes are created by. */
  readonly typedId: string;
  readonly isUser: boolean;
  readonly rateLimits: RateLimitOverrides | null;
}

/**
 * The one who asks, read again: a process may believe for a second that a key is good or a person a member, and nothing
 * may outlive itself by what it makes then. Throws UnauthorizedException and ForbiddenException.
 */
export function loadGrantor(em: EntityManager, clock: Clock, principal: GrantorPrincipal): Promise<Grantor> {
  return principal.keyId === null
    ? loadUserGrantor(em, principal)
    : loadKeyGrantor(em, clock, principal.keyId);
}

async function loadKeyGrantor(em: EntityManager, clock: Clock, id: string): Promise<Grantor> {
  const key = await em.findOne(ApiKey, { id, revokedAt: null });
  if (!key || (key.expiresAt && key.expiresAt.getTime() <= clock.now()))
    throw unauthorized("The API key is not valid");
  const { scopes, expiresAt, cidrs, rateLimits = null } = key;
  return { typedId: toTypedId("key", id), isUser: false, scopes, expiresAt, cidrs, rateLimits };
}

async function loadUserGrantor(
  em: EntityManager,
  { actor, organizationId, scopes }: GrantorPrincipal,
): Promise<Grantor> {
  const { id } = actor;
  const user = id === null ? null : await em.findOne(User, { id, organization: organizationId });
  if (!id || !user) throw unauthorized("You are not a member any more");
  if (user.role === "member") throw forbidden("Keys are managed by the owners of your organisation");
  return { typedId: toTypedId("usr", id), isUser: true, scopes, rateLimits: null };
}

/** Throws ForbiddenException where a key with these bounds could do more than `asker`. */
export function assertWithinGrant(grantor: Grantor, { scopes, expiresAt, cidrs }: KeyGrant): void {
  assertScopes(grantor, scopes);
  if (grantor.expiresAt && (!expiresAt || expiresAt > grantor.expiresAt)) {
    throw forbidden(`The key must end no later than the key that asks: ${grantor.expiresAt.toISOString()}`);
  }
  const ownCidrs = grantor.cidrs;
  if (ownCidrs && !cidrs?.every((range) => ownCidrs.some((outer) => isSubnetOf(range, outer)))) {
    throw forbidden(`The key must be used only from where the key that asks may be: ${ownCidrs.join(", ")}`);
  }
}

export function assertScopes(grantor: Grantor, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !grantor.scopes.includes(scope));
  if (missing.length === 0) return;
  const who = grantor.isUser ? "Your role" : "The key that asks";
  throw forbidden(`${who} does not have the scope ${missing.join(", ")}`);
}

function forbidden(sentence: string): AppError {
  return new AppError("ForbiddenException", sentence);
}
