/** Checks that a new key has no more rights than its grantor, a key or a user. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { AuditSource } from "../audit/api.ts";
import { User } from "../organizations/api.ts";
import type { Clock } from "../core/clock.ts";
import { AppError, badRequest, problemIn } from "../core/errors.ts";
import { toTypedId } from "../core/ids.ts";
import type { AuthenticatedActor } from "../core/fresh-authentication.ts";
import { partnerOf, type Principal } from "../core/principal.ts";
import { effectiveLimit, rateLimitClasses, type RateLimitOverrides } from "../rate-limits/api.ts";
import { ApiKey, scopes as allScopes, type Scope, withoutKeyManagement } from "./entity.ts";
import { unauthorized } from "./format.ts";
import { isSubnetOf } from "../core/cidr.ts";

/** The principal that creates a key. `keyId` is null for a user. */
export type GrantorPrincipal = Principal &
  AuthenticatedActor &
  Partial<AuditSource> & {
    readonly keyId: string | null;
    /** Absent for a key. */
    readonly user?: Pick<User, "role">;
  };

/** A key's rights. Without `expiresAt` it never expires; without `cidrs` any IP address may use it. */
export interface KeyGrant {
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | null | undefined;
  readonly cidrs?: readonly string[] | null | undefined;
  /** Null: the service's limits. Absent in a new key, which gets those of its grantor. */
  readonly rateLimits?: RateLimitOverrides | null | undefined;
}

export interface Grantor extends KeyGrant {
  /** Stored as `createdBy` of its keys. */
  readonly typedId: string;
  /** False for users and for operators' keys, whose own rate limits bind no other key. */
  readonly isPartnerKey: boolean;
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
  const isPartnerKey = Boolean(key.organization);
  return { typedId: toTypedId("key", id), isPartnerKey, scopes, expiresAt, cidrs, rateLimits };
}

/** A user who manages keys can give any scope: a developer creates the keys of integrations that change jobs. */
async function loadUserGrantor(em: EntityManager, principal: GrantorPrincipal): Promise<Grantor> {
  const { id } = principal.actor;
  const organization = partnerOf(principal);
  const user = id === null ? null : await em.findOne(User, { id, organization });
  if (!id || !user) throw unauthorized("You are no longer a member");
  if (user.role !== principal.user?.role) throw forbidden("Your role has changed. Send the request again");
  return { typedId: toTypedId("usr", id), isPartnerKey: false, scopes: allScopes, rateLimits: null };
}

/** Returns the scopes of a new key. Throws BadRequestException if it would have none by default. */
export function grantedScopes(grantor: Grantor, requested: readonly Scope[] | null | undefined): Scope[] {
  const granted = [...new Set(requested ?? withoutKeyManagement(grantor.scopes))];
  if (granted.length > 0) return granted;
  const message = "must be named, because the only scope of the key that creates it is keys:manage";
  throw badRequest([problemIn("body")("scopes", "invalid_value", message)]);
}

/** Throws ForbiddenException if the grant exceeds the grantor's rights. */
export function assertWithinGrant(
  grantor: Grantor,
  { scopes, expiresAt, cidrs, rateLimits }: KeyGrant,
): void {
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
  if (grantor.isPartnerKey && rateLimits !== undefined && hasHigherLimit(rateLimits, grantor.rateLimits))
    throw forbidden("The key has higher rate limits than the key of this request");
}

function hasHigherLimit(limits: RateLimitOverrides | null, own: RateLimitOverrides | null): boolean {
  return rateLimitClasses.some((kind) => {
    const [limit, ownLimit] = [effectiveLimit(limits, kind), effectiveLimit(own, kind)];
    if (!limit || !ownLimit) return ownLimit !== null;
    return limit.perSecond > ownLimit.perSecond || limit.burst > ownLimit.burst;
  });
}

export function assertScopes(grantor: Grantor, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !grantor.scopes.includes(scope));
  if (missing.length === 0) return;
  throw forbidden(`The key of this request does not have the scope ${missing.join(", ")}`);
}

function forbidden(message: string): AppError {
  return new AppError("ForbiddenException", message);
}
