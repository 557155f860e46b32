/** Changes of API keys in one transaction: issues, replaces and revokes keys, and records it in the audit log. */
import { LockMode, raw, type EntityManager, type FilterQuery } from "@mikro-orm/postgresql";
import type { AuditSource } from "../audit/api.ts";
import type { AccessChange, RecordAccessChange } from "../mail/api.ts";
import { modeOf, Organization, partnerIdOf } from "../organizations/api.ts";
import { parseCidr } from "../core/cidr.ts";
import type { Clock } from "../core/clock.ts";
import type { Database } from "../core/postgres/database.ts";
import type { InTransaction, Transaction } from "../core/postgres/transaction.ts";
import { AppError, badRequest, problemIn } from "../core/errors.ts";
import { newUuid, toTypedId } from "../core/ids.ts";
import type { Actor } from "../core/principal.ts";
import { HOUR_MS } from "../core/time.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import {
  AccessRevision,
  ApiKey,
  keysOf,
  scopes as allScopes,
  type Scope,
  withoutKeyManagement,
} from "./entity.ts";
import { generateKey } from "./format.ts";

/** Hours for which a rotated key remains valid. */
export const GRACE_HOURS = { min: 0, max: 24, default: 24 } as const;
export const GRACE_HOURS_RULE = `must be from ${GRACE_HOURS.min} to ${GRACE_HOURS.max}`;

/** PostgreSQL can't parse the text of later JavaScript dates. */
const MAX_EXPIRY_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const INVALID_EXPIRY = problemIn("body")(
  "expires_at",
  "invalid_value",
  "must be in the future, and before the year 10000",
);

export interface NewKey {
  /** Null for an operator's key. */
  organizationId: string | null;
  name: string;
  /** Default: all but `keys:manage`. */
  scopes?: readonly Scope[];
  expiresAt?: Date | null;
  /** CIDR ranges of client IP addresses that may use the key; absent or null: any. */
  cidrs?: readonly string[] | null;
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

export type KeyAuthor = { readonly actor: Actor } & Partial<AuditSource>;

export interface KeyDeps {
  database: Database;
  clock: Clock;
  /** Absent: changes get no audit entry and no mail. */
  recordAccessChange?: RecordAccessChange | undefined;
}

/**
 * Runs `change` in a transaction that holds the access lock: until it ends, no other transaction can change keys. Every process
 * rejects revoked keys within a second.
 */
export function changeKeys<T>(
  deps: KeyDeps & InTransaction,
  change: (keys: KeyChanges) => Promise<T>,
): Promise<T> {
  return deps.database.transactionalIn(deps.tx, async (em, tx) => {
    const accessRevision = await lockAccess(em);
    return await change(new KeyChanges(deps, tx, accessRevision));
  });
}

/**
 * Locks keys and organisations until the transaction ends. Every process then reads the keys again. Returns the new revision, which
 * each changed key gets: during an upgrade, processes of the former version read only keys with a new one.
 */
async function lockAccess(em: EntityManager): Promise<number> {
  const access = await em.findOneOrFail(
    AccessRevision,
    { id: true },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  access.revision += 1;
  return access.revision;
}

/** Without `by`, here and below, a change is not recorded. */
export class KeyChanges {
  readonly tx: Transaction;
  readonly em: EntityManager;
  readonly accessRevision: number;
  readonly #deps: KeyDeps;

  constructor(deps: KeyDeps, tx: Transaction, accessRevision: number) {
    this.tx = tx;
    this.em = tx.em();
    this.#deps = deps;
    this.accessRevision = accessRevision;
  }

  /** Throws BadRequestException for an invalid CIDR range or expiry. */
  async issue(request: NewKey, by?: KeyAuthor): Promise<IssuedKey> {
    const issued = await this.#create(request);
    await this.#record("key.created", issued.key, by);
    return issued;
  }

  /**
   * Creates a key with the old one's rights, and lets the old one expire after `graceHours` unless it expires sooner. Both
   * share their token buckets, so that rotating doesn't refill them. Throws ConflictException if the old key has ended, and
   * BadRequestException for another grace period than 0 to 24 hours.
   */
  async replace(
    old: ApiKey,
    { graceHours, createdBy }: { graceHours: number; createdBy: string },
    by?: KeyAuthor,
  ): Promise<IssuedKey> {
    if (!(graceHours >= GRACE_HOURS.min && graceHours <= GRACE_HOURS.max))
      throw new AppError("BadRequestException", `The grace period ${GRACE_HOURS_RULE} hours`);
    if (!this.#isActive(old)) {
      const ended = old.revokedAt ? "A revoked" : "An expired";
      throw new AppError("ConflictException", `${ended} key cannot be rotated; create a new one`);
    }
    const { name, scopes, cidrs = null, rateLimits = null, expiresAt = null } = old;
    const issued = await this.#create({
      organizationId: old.organization?.id ?? null,
      name,
      scopes,
      cidrs,
      rateLimits,
      expiresAt,
      createdBy,
      rateBucket: old.rateBucket ?? old.id,
    });
    const graceEnd = new Date(this.#deps.clock.now() + graceHours * HOUR_MS);
    if (!old.expiresAt || old.expiresAt > graceEnd) old.expiresAt = graceEnd;
    old.accessRevision = this.accessRevision;
    await this.#record("key.rotated", issued.key, by, { replaces: old.prefix, grace_hours: graceHours });
    return issued;
  }

  /** Revokes the `keys` that aren't revoked yet, and returns all of them. */
  async revoke(keys: readonly ApiKey[], by?: KeyAuthor): Promise<readonly ApiKey[]> {
    for (const key of keys.filter(({ revokedAt }) => !revokedAt)) {
      key.revokedAt = new Date(this.#deps.clock.now());
      key.accessRevision = this.accessRevision;
      await this.#record("key.revoked", key, by);
    }
    return keys;
  }

  /**
   * Returns the active keys of one organisation and of its test organisations (null: of the operators) that `creator` (a typed
   * id) created, directly or through keys it created. The search also follows revoked and expired keys, as those may have
   * created active ones.
   */
  async createdBy(creator: string, organizationId: string | null): Promise<ApiKey[]> {
    const found: ApiKey[] = [];
    const ofPartner = organizationId === null ? { organization: null } : keysOf({ organizationId });
    let creators = [creator];
    while (creators.length > 0) {
      const created = await this.em.find(
        ApiKey,
        { $and: [ofPartner, { createdBy: { $in: creators } }] },
        { populate: ["organization"] },
      );
      found.push(...created);
      creators = created.map(({ id }) => toTypedId("key", id));
    }
    return found.filter((key) => this.#isActive(key));
  }

  #isActive({ revokedAt, expiresAt }: ApiKey): boolean {
    return !revokedAt && (!expiresAt || expiresAt.getTime() > this.#deps.clock.now());
  }

  async #create({
    organizationId,
    scopes = withoutKeyManagement(allScopes),
    ...request
  }: NewKey): Promise<IssuedKey> {
    const now = this.#deps.clock.now();
    const cidrs = request.cidrs?.map((cidr) => parseCidr(cidr).text) ?? null;
    const expiresAtMs = request.expiresAt?.getTime() ?? MAX_EXPIRY_MS;
    if (!(expiresAtMs > now && expiresAtMs <= MAX_EXPIRY_MS)) throw badRequest([INVALID_EXPIRY]);
    const organization =
      organizationId === null ? null : await this.em.findOneOrFail(Organization, organizationId);
    const { text, prefix, hash } = generateKey(organization ? modeOf(organization) : "live");
    const key = this.em.create(ApiKey, {
      ...request,
      id: newUuid(),
      prefix,
      secretHash: hash,
      organization,
      scopes: [...scopes],
      cidrs,
      createdAt: new Date(now),
    });
    this.em.persist(key);
    return { key, text };
  }

  async #record(
    action: Extract<AccessChange["action"], `key.${string}`>,
    key: ApiKey,
    by: KeyAuthor | undefined,
    details?: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    if (!by) return;
    const { actor, ipAddress = null, requestId = null } = by;
    await this.#deps.recordAccessChange?.(this.tx, {
      action,
      actor,
      ipAddress,
      requestId,
      // The owners of the live organisation are notified of its test keys too.
      organizationId: key.organization ? partnerIdOf(key.organization) : null,
      subject: toTypedId("key", key.id),
      subjectName: `${key.name} (${key.prefix})`,
      details: { name: key.name, prefix: key.prefix, scopes: key.scopes, ...details },
    });
  }
}

/** Loads a key and its organisation. Throws NotFoundException. */
export async function getKey(em: EntityManager, where: FilterQuery<ApiKey>): Promise<ApiKey> {
  const key = await em.findOne(ApiKey, where, { populate: ["organization"] });
  if (!key) throw new AppError("NotFoundException", "No such key");
  return key;
}

/**
 * Locks and returns a live organisation and its test organisations, to change what their keys remember: every process reads the keys
 * again. Throws NotFoundException, also for a test organisation. Keep the transaction short, as it holds the access lock.
 */
export async function lockOrganization(
  tx: Transaction,
  id: string,
): Promise<readonly [Organization, ...Organization[]]> {
  const em = tx.em();
  const accessRevision = await lockAccess(em);
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
  const live = await em.findOne(Organization, { id, liveOrganization: null }, lock);
  if (!live) throw new AppError("NotFoundException", "No such organisation");
  const tests = await em.find(Organization, { liveOrganization: id }, { refresh: true });
  await em.nativeUpdate(ApiKey, { organization: { $in: [live, ...tests] } }, { accessRevision });
  return [live, ...tests];
}

/**
 * Deletes keys revoked or expired more than `retentionDays` ago by PostgreSQL's clock, and returns their number. Events, the
 * request log and audit entries contain the key's id and need no row.
 */
export function purgeEndedKeys(database: Database, retentionDays: number): Promise<number> {
  const before = () => raw("now() - make_interval(days => ?)", [retentionDays]);
  return database.em().nativeDelete(ApiKey, {
    $or: [{ revokedAt: { $lt: before() } }, { expiresAt: { $lt: before() } }],
  });
}
