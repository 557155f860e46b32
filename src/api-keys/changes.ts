/** Changes of API keys in one transaction: issues, replaces and revokes keys, and records it in the audit log. */
import { LockMode, raw, type EntityManager, type FilterQuery, type InferEntity } from "@mikro-orm/postgresql";
import type { AuditSource } from "../audit/api.ts";
import type { AccessChange, RecordAccessChange } from "../mail/api.ts";
import { modeOf, Organization, partnerIdOf, renameWithTests } from "../organizations/api.ts";
import { parseCidr } from "../core/cidr.ts";
import type { Clock } from "../core/clock.ts";
import type { Database } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { AppError } from "../core/errors.ts";
import { newUuid, toTypedId } from "../core/ids.ts";
import type { Actor } from "../core/principal.ts";
import { HOUR_MS } from "../core/time.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import {
  AccessRevision,
  ApiKey,
  ofLiveAndTest,
  scopes as allScopes,
  type Scope,
  withoutKeyManagement,
} from "./entity.ts";
import { generateKey } from "./format.ts";

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

/** The author of a change for the audit log. */
export type KeyAuthor = { readonly actor: Actor } & Partial<AuditSource>;

export interface KeyDeps {
  database: Database;
  clock: Clock;
  /** Absent: changes get no audit entry and no mail. */
  recordAccessChange?: RecordAccessChange | undefined;
}

/**
 * Runs `change` in a transaction that holds the access lock: until it ends, no other transaction can change keys. Every process
 * rejects revoked keys within a second. `joined`: the caller's transaction; absent: a new one.
 */
export function changeKeys<T>(
  deps: KeyDeps,
  change: (keys: KeyChanges) => Promise<T>,
  joined?: Transaction,
): Promise<T> {
  return deps.database.transactionalIn(joined, async (em, tx) =>
    change(new KeyChanges(deps, tx, await lockAccessRevision(em))),
  );
}

function lockAccessRevision(em: EntityManager): Promise<AccessRevisionRow> {
  return em.findOneOrFail(AccessRevision, { id: true }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

type AccessRevisionRow = InferEntity<typeof AccessRevision>;

/** Without `by`, here and below, a change is not recorded. */
export class KeyChanges {
  readonly tx: Transaction;
  readonly em: EntityManager;
  readonly #deps: KeyDeps;
  readonly #access: AccessRevisionRow;
  readonly #nextRevision: number;

  constructor(deps: KeyDeps, tx: Transaction, access: AccessRevisionRow) {
    this.tx = tx;
    this.em = tx.em();
    this.#deps = deps;
    this.#access = access;
    this.#nextRevision = access.revision + 1;
  }

  /** Loads a key and its organisation. Throws NotFoundException. */
  get(where: FilterQuery<ApiKey>): Promise<ApiKey> {
    return getKey(this.em, where);
  }

  /** Throws BadRequestException for an invalid CIDR range, rate limit or expiry. */
  async issue(request: NewKey, by?: KeyAuthor): Promise<IssuedKey> {
    const issued = await this.#create(request);
    await this.#record("key.created", issued.key, by);
    return issued;
  }

  /**
   * Creates a key with the old one's rights, and lets the old one expire after `graceHours` unless it expires sooner. Both
   * share their token buckets, so that rotating doesn't refill them. Throws ConflictException if the old key has ended.
   */
  async replace(
    old: ApiKey,
    { graceHours, createdBy }: { graceHours: number; createdBy: string },
    by?: KeyAuthor,
  ): Promise<IssuedKey> {
    if (old.revokedAt)
      throw new AppError("ConflictException", "A revoked key cannot be rotated; create a new one");
    if (!this.#isActive(old))
      throw new AppError("ConflictException", "An expired key cannot be rotated; create a new one");
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
    this.markChanged(old);
    await this.#record("key.rotated", issued.key, by, { replaces: old.prefix, grace_hours: graceHours });
    return issued;
  }

  /** Revokes the `keys` that aren't revoked yet, and returns all of them. */
  async revoke(keys: readonly ApiKey[], by?: KeyAuthor): Promise<readonly ApiKey[]> {
    for (const key of keys.filter(({ revokedAt }) => !revokedAt)) {
      key.revokedAt = new Date(this.#deps.clock.now());
      this.markChanged(key);
      await this.#record("key.revoked", key, by);
    }
    return keys;
  }

  /** Makes every process read the key again. */
  markChanged(key: ApiKey): void {
    this.#access.revision = key.accessRevision = this.#nextRevision;
  }

  /**
   * Returns the active keys of one organisation and of its test organisations (null: of the operators) that `creator` (a typed
   * id) created, directly or through keys it created. The search also follows revoked and expired keys, as those may have
   * created active ones.
   */
  async createdBy(creator: string, organizationId: string | null): Promise<ApiKey[]> {
    const found: ApiKey[] = [];
    const organizations = organizationId === null ? [{ organization: null }] : ofLiveAndTest(organizationId);
    let creators = [creator];
    while (creators.length > 0) {
      const created = await this.em.find(
        ApiKey,
        { $or: organizations, createdBy: { $in: creators } },
        { populate: ["organization"] },
      );
      found.push(...created);
      creators = created.map(({ id }) => toTypedId("key", id));
    }
    return found.filter((key) => !key.revokedAt && this.#isActive(key));
  }

  #isActive({ expiresAt }: ApiKey): boolean {
    return !expiresAt || expiresAt.getTime() > this.#deps.clock.now();
  }

  async #create({
    organizationId,
    scopes = withoutKeyManagement(allScopes),
    ...request
  }: NewKey): Promise<IssuedKey> {
    const now = this.#deps.clock.now();
    const cidrs = request.cidrs?.map((cidr) => parseCidr(cidr).text) ?? null;
    if (request.expiresAt && request.expiresAt.getTime() <= now)
      throw new AppError("BadRequestException", "The expiry must be in the future");
    checkRateLimits(request.rateLimits);
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
    // Tells every process that the key exists.
    this.markChanged(key);
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

function checkRateLimits(overrides: RateLimitOverrides | null | undefined): void {
  for (const limit of Object.values<RateLimitOverrides["read"]>({ ...overrides })) {
    if (limit && !(limit.perSecond > 0 && limit.burst >= 1))
      throw new AppError(
        "BadRequestException",
        "A rate limit must allow more than 0 requests a second and a burst of at least 1",
      );
  }
}

/** Loads a key and its organisation. Throws NotFoundException. */
export async function getKey(em: EntityManager, where: FilterQuery<ApiKey>): Promise<ApiKey> {
  const key = await em.findOne(ApiKey, where, { populate: ["organization"] });
  if (!key) throw new AppError("NotFoundException", "No such key");
  return key;
}

/**
 * Suspends or restores an organisation and its test organisations in the caller's transaction. Returns false if nothing
 * changed. Throws NotFoundException, also for a test organisation. Keep the transaction short, as it holds the access lock.
 */
export async function setSuspended(
  tx: Transaction,
  { organizationId, suspended, nowMs }: { organizationId: string; suspended: boolean; nowMs: number },
): Promise<boolean> {
  const change = await lockOrganization(tx, organizationId);
  if (Boolean(change.organization.suspendedAt) === suspended) return false;
  await change.apply({ suspendedAt: suspended ? new Date(nowMs) : null });
  return true;
}

/** As `setSuspended`, for the time zone. Returns the former one. */
export async function setTimeZone(
  tx: Transaction,
  { organizationId, timeZone }: { organizationId: string; timeZone: string },
): Promise<string> {
  const change = await lockOrganization(tx, organizationId);
  const former = change.organization.timeZone;
  if (former !== timeZone) await change.apply({ timeZone });
  return former;
}

/** As `setTimeZone`, for the name: test organisations have a name made from it. */
export async function setName(
  tx: Transaction,
  { organizationId, name }: { organizationId: string; name: string },
): Promise<string> {
  const { organization, renewKeys } = await lockOrganization(tx, organizationId);
  const former = organization.name;
  if (former === name) return former;
  await renameWithTests(tx.em(), organization, name);
  await renewKeys();
  return former;
}

/** `apply` changes the organisation and its test organisations, and calls `renewKeys`: every process then reads their keys again. */
async function lockOrganization(tx: Transaction, organizationId: string) {
  const em = tx.em();
  const access = await lockAccessRevision(em);
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
  const organization = await em.findOne(Organization, organizationId, lock);
  if (!organization || modeOf(organization) === "test")
    throw new AppError("NotFoundException", "No such organisation");
  const renewKeys = async (): Promise<void> => {
    const accessRevision = (access.revision += 1);
    const organizations = await em.find(Organization, {
      $or: [{ id: organizationId }, { liveOrganization: organizationId }],
    });
    await em.nativeUpdate(ApiKey, { organization: { $in: organizations } }, { accessRevision });
  };
  return {
    organization,
    renewKeys,
    async apply(data: Partial<Pick<Organization, "suspendedAt" | "timeZone">>): Promise<void> {
      Object.assign(organization, data);
      await em.nativeUpdate(Organization, { liveOrganization: organizationId }, data);
      await renewKeys();
    },
  };
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
