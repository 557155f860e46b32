/** Creates, replaces, finds and revokes keys in the caller's transaction. */
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
  /** Null for an operator's key. */
  organizationId: string | null;
  name: string;
  /** Default: all. */
  scopes?: readonly Scope[];
  expiresAt?: Date | null;
  /** CIDR ranges of client IP addresses that may use the key; absent or null: any. */
  cidrs?: readonly string[] | null;
  /** Override the service's limits. */
  rateLimits?: RateLimitOverrides | null;
  createdBy: string;
  /** The key whose token buckets it uses; absent or null: its own. */
  rateBucket?: string | null;
}

export interface IssuedKey {
  key: ApiKey;
  /** The whole key. It can't be recovered later. */
  text: string;
}

export const MAX_GRACE_HOURS = 24;

/** Throws BadRequestException for an invalid CIDR range, rate limit or expiry. */
export function issueKey(em: EntityManager, clock: Clock, request: NewKey): IssuedKey {
  const cidrs = request.cidrs?.map((cidr) => parseCidr(cidr).text) ?? null;
  if (request.expiresAt && request.expiresAt.getTime() <= clock.now()) {
    throw new AppError("BadRequestException", "The expiry must be in the future");
  }
  for (const limit of Object.values<RateLimitOverrides["read"]>({ ...request.rateLimits })) {
    if (limit && !(limit.perSecond > 0 && limit.burst >= 1)) {
      throw new AppError(
        "BadRequestException",
        "A rate limit must allow more than 0 requests a second and a burst of at least 1",
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
 * Creates a key with the old one's rights, and lets the old one expire after `graceHours` unless it expires sooner. Both
 * share their token buckets, so that rotating doesn't refill them. Throws ConflictException if the old key has ended.
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

/** Loads a key and its organisation. Throws NotFoundException. */
export async function getKey(em: EntityManager, where: FilterQuery<ApiKey>): Promise<ApiKey> {
  const key = await em.findOne(ApiKey, where, { populate: ["organization"] });
  if (!key) throw new AppError("NotFoundException", "No such key");
  return key;
}

export interface RevokedKeys {
  readonly key: ApiKey;
  /** The active keys that it created, directly or through keys it created. */
  readonly created: readonly ApiKey[];
}

/** Selects the keys of one organisation by their creator. */
export interface KeyCreator {
  /** A uuid; null for operators' keys. */
  readonly organizationId: string | null;
  /** The typed id in `createdBy`. */
  readonly creator: string;
}

/**
 * Returns the active keys that `creator` created, directly or through keys it created. The search also follows revoked and
 * expired keys, as those may have created keys that are still active.
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

/** As `keysCreatedBy`, with `key` as the creator. */
export function keysCreatedByKey(em: EntityManager, clock: Clock, key: ApiKey): Promise<ApiKey[]> {
  const organizationId = key.organization?.id ?? null;
  return keysCreatedBy(em, clock, { organizationId, creator: toTypedId("key", key.id) });
}

/** Call it for each changed key: every process then drops it from its cache. */
export type MarkChanged = (key: ApiKey) => void;

/** Returns false if the key was already revoked. */
export function revokeKey(key: ApiKey, clock: Clock, markChanged: MarkChanged): boolean {
  if (key.revokedAt) return false;
  key.revokedAt = new Date(clock.now());
  markChanged(key);
  return true;
}

/** Runs `change` in a transaction that holds the access lock. Increments the access revision if `change` marks a key. */
export function withAccessRevision<T>(
  database: Database,
  change: (em: EntityManager, markChanged: MarkChanged) => Promise<T>,
): Promise<T> {
  return database.em().transactional(async (em) => {
    const access = await lockAccessRevision(em);
    const revision = access.revision + 1;
    return await change(em, (key) => {
      access.revision = key.accessRevision = revision;
    });
  });
}

/** Until the transaction ends, no other transaction can change keys. */
export function lockAccessRevision(em: EntityManager): Promise<InferEntity<typeof AccessRevision>> {
  return em.findOneOrFail(AccessRevision, { id: true }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}
