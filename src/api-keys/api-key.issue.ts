/** How keys come to be and are replaced, within the caller's transaction. */
import { LockMode, type EntityManager, type FilterQuery, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/api.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { newUuid, toTypedId } from "../platform/ids.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import { AccessRevision, ApiKey, scopes as allScopes, type Scope } from "./api-key.entity.ts";
import { generateKey } from "./api-key.format.ts";
import { parseCidr } from "../platform/cidr.ts";

export interface NewKey {
  /** Null: an operator's. */
  organizationId: string | null;
  name: string;
  /** Default: all. */
  scopes?: readonly Scope[];
  expiresAt?: Date | null;
  /** CIDR ranges that it may be used from; absent or null: anywhere. */
  cidrs?: readonly string[] | null;
  /** Its own limits instead of the service's. */
  rateLimits?: RateLimitOverrides | null;
  createdBy: string;
  /** Whose token buckets it draws from; absent or null: its own. */
  rateBucket?: string | null;
}

export interface IssuedKey {
  key: ApiKey;
  /** The key itself: it cannot be had again. */
  text: string;
}

export const MAX_GRACE_HOURS = 24;

/** Throws BadRequestException for what no key can have. */
export function issueKey(em: EntityManager, clock: Clock, request: NewKey): IssuedKey {
  const cidrs = request.cidrs?.map((cidr) => parseCidr(cidr).text) ?? null;
  if (request.expiresAt && request.expiresAt.getTime() <= clock.now()) {
    throw new AppError("BadRequestException", "The expiry is in the past");
  }
  for (const limit of Object.values<RateLimitOverrides["read"]>({ ...request.rateLimits })) {
    if (limit && !(limit.perSecond > 0 && limit.burst >= 1)) {
      throw new AppError(
        "BadRequestException",
        "A rate limit is more than 0 a second and at least 1 at once",
      );
    }
  }
  const { text, lookup, hash } = generateKey();
  const key = em.create(ApiKey, {
    id: newUuid(),
    lookup,
    secretHash: hash,
    organization:
      request.organizationId === null ? null : em.getReference(Organization, request.organizationId),
    name: request.name,
    scopes: [...(request.scopes ?? allScopes)],
    cidrs,
    rateLimits: request.rateLimits ?? null,
    createdBy: request.createdBy,
    rateBucket: request.rateBucket ?? null,
    createdAt: new Date(clock.now()),
    expiresAt: request.expiresAt ?? null,
  });
  em.persist(key);
  return { key, text };
}

export interface KeyReplacement {
  old: ApiKey;
  graceHours: number;
  createdBy: string;
}

/**
 * A new key with the bounds of the old one, whose end comes after the grace unless it comes sooner. Both draw from the same
 * token buckets, so rotating refills none.
 */
export function replaceKey(
  em: EntityManager,
  clock: Clock,
  { old, graceHours, createdBy }: KeyReplacement,
): IssuedKey {
  if (old.revokedAt)
    throw new AppError("ConflictException", "A revoked key cannot be rotated; create a new one");
  if (old.expiresAt && old.expiresAt.getTime() <= clock.now())
    throw new AppError("ConflictException", "An expired key cannot be rotated; create a new one");
  const issued = issueKey(em, clock, {
    organizationId: old.organization?.id ?? null,
    name: old.name,
    scopes: old.scopes,
    cidrs: old.cidrs ?? null,
    rateLimits: old.rateLimits ?? null,
    expiresAt: old.expiresAt ?? null,
    createdBy,
    rateBucket: old.rateBucket ?? old.id,
  });
  const graceEnd = new Date(clock.now() + graceHours * 3_600_000);
  if (!old.expiresAt || old.expiresAt > graceEnd) old.expiresAt = graceEnd;
  return issued;
}

/** With its organisation. Throws NotFoundException. */
export async function getKey(em: EntityManager, where: FilterQuery<ApiKey>): Promise<ApiKey> {
  const key = await em.findOne(ApiKey, where, { populate: ["organization"] });
  if (!key) throw new AppError("NotFoundException", "No such key");
  return key;
}

export interface RevokedKeys {
  readonly key: ApiKey;
  /** Those of the keys that it created, and that these created, that were neither revoked nor expired. */
  readonly created: readonly ApiKey[];
}

/** A creator of keys, and the organisation of the keys (a uuid; null: the operators). */
export interface KeyCreator {
  readonly organizationId: string | null;
  /** As `createdBy` names it: a typed id. */
  readonly creator: string;
}

/**
 * The keys of the organisation that `creator` created, and those that these created, without revoked and expired ones. A
 * revoked key may have created keys that are still good, so the search also passes through ended keys.
 */
export async function keysCreatedBy(
  em: EntityManager,
  clock: Clock,
  { organizationId, creator }: KeyCreator,
): Promise<ApiKey[]> {
  const found: ApiKey[] = [];
  let creators = [creator];
  while (creators.length > 0) {
    const where = { organization: organizationId, createdBy: { $in: creators } };
    const created = await em.find(ApiKey, where, { populate: ["organization"] });
    found.push(...created);
    creators = created.map(({ id }) => toTypedId("key", id));
  }
  return found.filter(
    ({ revokedAt, expiresAt }) => !revokedAt && !(expiresAt && expiresAt.getTime() <= clock.now()),
  );
}

/** The same of the creator `key`. */
export function keysCreatedByKey(em: EntityManager, clock: Clock, key: ApiKey): Promise<ApiKey[]> {
  const organizationId = key.organization?.id ?? null;
  return keysCreatedBy(em, clock, { organizationId, creator: toTypedId("key", key.id) });
}

/** What a change of access does with each key that it changes: every process then drops it from memory. */
export type MarkChanged = (key: ApiKey) => void;

/** Revokes `key` unless it is revoked already; returns whether it did. */
export function revokeKey(key: ApiKey, clock: Clock, markChanged: MarkChanged): boolean {
  if (key.revokedAt) return false;
  key.revokedAt = new Date(clock.now());
  markChanged(key);
  return true;
}

/** Runs `change` in a transaction that holds the access lock. Raises the access revision if it changed a key. */
export function withAccessRevision<T>(
  database: Database,
  change: (em: EntityManager, noteChange: MarkChanged) => Promise<T>,
): Promise<T> {
  return database.em().transactional(async (em) => {
    const access = await lockAccessRevision(em);
    const revision = access.revision + 1;
    return await change(em, (key) => {
      access.revision = key.accessRevision = revision;
    });
  });
}

/** From here to its end, the transaction is the only one that changes keys. */
export function lockAccessRevision(em: EntityManager): Promise<InferEntity<typeof AccessRevision>> {
  return em.findOneOrFail(AccessRevision, { id: true }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}
