/** Issues, lists, rotates and revokes API keys, for operators without restrictions. */
import type { RecordAccessChange } from "../mail/api.ts";
import type { AuditContext } from "../audit/api.ts";
import type { Database, Transaction } from "../platform/postgres/database.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { fromTypedId } from "../platform/ids.ts";
import { sql } from "../platform/postgres/sql.ts";
import { recordKeyEvent, revokeKeys } from "./api-key.audit.ts";
import { createKeyDelegation, type KeyDelegation } from "./api-key.delegation.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import { ApiKey } from "./api-key.entity.ts";
import {
  withAccessRevision,
  getKey,
  issueKey,
  keysCreatedByKey,
  MAX_GRACE_HOURS,
  replaceKey,
  type IssuedKey,
  type RevokedKeys,
  type NewKey,
} from "./api-key.issue.ts";

/** Unrestricted methods for operators and the CLI, and those of `KeyDelegation` for principals. */
export interface ApiKeyService extends KeyDelegation {
  /** `by`: the actor for the audit log. Without it, here and below, nothing is recorded. */
  create(request: NewKey, by?: AuditContext): Promise<IssuedKey>;
  list(organizationId?: string): Promise<ApiKey[]>;
  /** Finds a key by typed id or lookup. */
  find(idOrLookup: string): Promise<ApiKey | null>;
  /** Every process rejects the key within a second. Idempotent. */
  revoke(id: string, by?: AuditContext, options?: { includeCreatedKeys: boolean }): Promise<RevokedKeys>;
  /** Returns a new key with the old one's rights. The old one stays valid for `graceHours` (0 to 24). */
  rotate(id: string, graceHours: number, createdBy: string, by?: AuditContext): Promise<IssuedKey>;
  /** Per class of request: undefined restores the service's limit, null removes the limit, an absent class is unchanged. */
  setRateLimits(id: string, changes: RateLimitOverrides): Promise<ApiKey>;
  /** Suspends an organisation (its keys get 403) or restores it. Takes effect in every process within a second. */
  setSuspended(organizationId: string, suspended: boolean): Promise<void>;
}

export function createApiKeyService(deps: ApiKeyDeps): ApiKeyService {
  const { database, clock } = deps;
  return {
    ...createKeyDelegation(deps),
    create: (request, by) => create(deps, request, by),
    list: (organizationId) =>
      database.em().find(ApiKey, organizationId ? { organization: organizationId } : {}, {
        orderBy: { createdAt: "asc" },
        populate: ["organization"],
      }),
    find(idOrLookup) {
      const id = fromTypedId("key", idOrLookup);
      return database.em().findOne(ApiKey, id ? { id } : { lookup: idOrLookup });
    },
    revoke: (id, by, { includeCreatedKeys } = { includeCreatedKeys: false }) =>
      withAccessRevision(database, async (em, markChanged) => {
        const key = await getKey(em, { id });
        const created = includeCreatedKeys ? await keysCreatedByKey(em, clock, key) : [];
        await revokeKeys(deps, em, { keys: [key, ...created], by, markChanged });
        return { key, created };
      }),
    rotate: (id, graceHours, createdBy, by) => rotate(deps, { id, graceHours, createdBy }, by),
    setRateLimits: (id, changes) =>
      withAccessRevision(database, async (em, markChanged) => {
        const key = await getKey(em, { id });
        const rateLimits = { ...key.rateLimits, ...changes };
        key.rateLimits = Object.values(rateLimits).some((limit) => limit !== undefined) ? rateLimits : null;
        markChanged(key);
        return key;
      }),
    setSuspended: (organizationId, suspended) =>
      database.transaction(async (tx) => {
        await setSuspended(tx, { organizationId, suspended, nowMs: clock.now() });
      }),
  };
}

/**
 * Suspends or restores an organisation in the caller's transaction. Returns false if nothing changed. Throws
 * NotFoundException. Keep the transaction short, as it holds the access lock.
 */
export async function setSuspended(
  tx: Transaction,
  { organizationId, suspended, nowMs }: { organizationId: string; suspended: boolean; nowMs: number },
): Promise<boolean> {
  await tx.query(sql`select 1 from access_revision for update`);
  const [organization] = await tx.query<{ suspended: boolean }>(
    sql`select suspended_at is not null as suspended from organization where id = ${organizationId} for update`,
  );
  if (!organization) throw new AppError("NotFoundException", "No such organisation");
  if (organization.suspended === suspended) return false;
  const suspendedAt = suspended ? new Date(nowMs).toISOString() : null;
  await tx.query(
    sql`update organization set suspended_at = ${suspendedAt}::timestamptz where id = ${organizationId}`,
  );
  await tx.query(sql`
    with access as (update access_revision set revision = revision + 1 returning revision)
    update api_key set access_revision = access.revision from access where organization_id = ${organizationId}`);
  return true;
}

interface ApiKeyDeps {
  database: Database;
  clock: Clock;
  /** Absent: changes get no audit entry and no mail. */
  recordAccessChange?: RecordAccessChange | undefined;
}

function create(
  { database, clock, recordAccessChange }: ApiKeyDeps,
  request: NewKey,
  by: AuditContext | undefined,
): Promise<IssuedKey> {
  return database.em().transactional(async (em) => {
    const issued = issueKey(em, clock, request);
    if (by) await recordKeyEvent(recordAccessChange, em, { action: "key.created", key: issued.key, by });
    return issued;
  });
}

async function rotate(
  { database, clock, recordAccessChange }: ApiKeyDeps,
  { id, graceHours, createdBy }: { id: string; graceHours: number; createdBy: string },
  by: AuditContext | undefined,
): Promise<IssuedKey> {
  if (!(graceHours >= 0 && graceHours <= MAX_GRACE_HOURS)) {
    throw new AppError("BadRequestException", `The grace period must be 0 to ${MAX_GRACE_HOURS} hours`);
  }
  return await withAccessRevision(database, async (em, markChanged) => {
    const old = await getKey(em, { id });
    const issued = replaceKey(em, clock, { old, graceHours, createdBy });
    markChanged(old);
    if (by) {
      const details = { replaces: `wmk_${old.lookup}`, grace_hours: graceHours };
      await recordKeyEvent(recordAccessChange, em, { action: "key.rotated", key: issued.key, by, details });
    }
    return issued;
  });
}
