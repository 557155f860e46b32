/** API keys: issued, listed, rotated and revoked. What a presented key may do is `api-key.verifier.ts`'s. */
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

/** For those who run the service, without bounds; and what keys may do to keys. */
export interface ApiKeyService extends KeyDelegation {
  /** `by`: who does it, for the audit log; absent, here and below: it is not recorded. */
  create(request: NewKey, by?: AuditContext): Promise<IssuedKey>;
  list(organizationId?: string): Promise<ApiKey[]>;
  /** A key by typed id or by its eight characters. */
  find(idOrLookup: string): Promise<ApiKey | null>;
  /** Every process refuses it within a second. Revoking again is no error. */
  revoke(id: string, by?: AuditContext, options?: { includeCreatedKeys: boolean }): Promise<RevokedKeys>;
  /** A new key like the old one, which stays good for `graceHours` (0 to 24) more. */
  rotate(id: string, graceHours: number, createdBy: string, by?: AuditContext): Promise<IssuedKey>;
  /** Gives the key these limits of its own; undefined: the service's again, absent: as before, null: none. */
  setRateLimits(id: string, changes: RateLimitOverrides): Promise<ApiKey>;
  /** Suspends an organisation (its keys answer 403) or restores it; every process knows within a second. */
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
        await revokeKeys(deps, em, { keys: [key, ...created], by, noteChange: markChanged });
        return { key, created };
      }),
    rotate: (id, graceHours, createdBy, by) => rotate(deps, { id, graceHours, createdBy }, by),
    setRateLimits: (id, changes) =>
      withAccessRevision(database, async (em, noteChange) => {
        const key = await getKey(em, { id });
        const rateLimits = { ...key.rateLimits, ...changes };
        key.rateLimits = Object.values(rateLimits).some((limit) => limit !== undefined) ? rateLimits : null;
        noteChange(key);
        return key;
      }),
    setSuspended: (organizationId, suspended) =>
      database.transaction(async (tx) => {
        await setSuspended(tx, { organizationId, suspended, nowMs: clock.now() });
      }),
  };
}

/**
 * The same in the caller's transaction; answers whether anything changed. Throws NotFoundException. Whoever changes access
 * waits for whoever does already, so it is to be a short transaction.
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
  /** Absent: no act is recorded. */
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
    throw new AppError("BadRequestException", `The old key may stay good for 0 to ${MAX_GRACE_HOURS} hours`);
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
