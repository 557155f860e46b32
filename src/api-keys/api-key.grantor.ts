/** The grantor of a new key, a key or a user: loads its current rights, and checks that the new key has no more. */
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

/** The principal that creates a key. `keyId` is null for a user. */
export type GrantorPrincipal = Principal &
  AuthenticatedActor &
  Partial<AuditSource> & { readonly keyId: string | null; readonly scopes: readonly Scope[] };

/** A key's rights. Without `expiresAt` it never expires; without `cidrs` any IP address may use it. */
export interface KeyGrant {
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | null | undefined;
  readonly cidrs?: readonly string[] | null | undefined;
}

export interface Grantor extends KeyGrant {
  /** Stored as `createdBy` of its keys. */
  readonly typedId: string;
  readonly isUser: boolean;
  readonly rateLimits: RateLimitOverrides | null;
}

/**
 * Reads the grantor from the database: the cached principal may be up to a second out of date, and a revoked key must not
 * create another. Throws UnauthorizedException and ForbiddenException.
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
  if (!id || !user) throw unauthorized("You are no longer a member");
  if (user.role === "member") throw forbidden("Only owners of your organisation can manage keys");
  return { typedId: toTypedId("usr", id), isUser: true, scopes, rateLimits: null };
}

/** Throws ForbiddenException if the grant exceeds the grantor's rights. */
export function assertWithinGrant(grantor: Grantor, { scopes, expiresAt, cidrs }: KeyGrant): void {
  assertScopes(grantor, scopes);
  if (grantor.expiresAt && (!expiresAt || expiresAt > grantor.expiresAt)) {
    throw forbidden(
      `The new key must expire no later than the key that creates it: ${grantor.expiresAt.toISOString()}`,
    );
  }
  const ownCidrs = grantor.cidrs;
  if (ownCidrs && !cidrs?.every((range) => ownCidrs.some((outer) => isSubnetOf(range, outer)))) {
    throw forbidden(
      `The new key's CIDR ranges must lie within those of the key that creates it: ${ownCidrs.join(", ")}`,
    );
  }
}

export function assertScopes(grantor: Grantor, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !grantor.scopes.includes(scope));
  if (missing.length === 0) return;
  const owner = grantor.isUser ? "Your role" : "The key of this request";
  throw forbidden(`${owner} does not have the scope ${missing.join(", ")}`);
}

function forbidden(message: string): AppError {
  return new AppError("ForbiddenException", message);
}
