/** Suspends and restores organisations. */
import { setSuspended } from "../api-keys/api.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Transaction } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { fromTypedId } from "../platform/ids.ts";
import type { OrganizationType } from "../platform/principal.ts";
import { sql } from "../platform/postgres/sql.ts";
import { parseOrThrow, freeText } from "./account.fields.ts";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";

export interface SuspendedOrganization {
  /** A uuid. */
  readonly id: string;
  readonly name: string;
  readonly type: OrganizationType;
}

/** `id`: typed. The caller must check that the principal is an operator. Throws NotFoundException. Both methods are idempotent. */
export interface SuspensionService {
  /**
   * Every process rejects the organisation's keys within a second. Its members' sessions are deleted. Its deliveries are
   * queued but not sent until it is restored. `reason`: for the audit log.
   */
  suspend(context: AuditContext, id: string, reason: string | null): Promise<SuspendedOrganization>;
  restore(context: AuditContext, id: string): Promise<SuspendedOrganization>;
}

export interface SuspensionDeps {
  database: Database;
  clock: Clock;
  /** Wakes the delivery workers. */
  notifyWorkers: () => void;
}

export function createSuspensionService({
  database,
  clock,
  notifyWorkers,
}: SuspensionDeps): SuspensionService {
  const setSuspension = async (
    context: AuditContext,
    typedId: string,
    { suspended, details }: { suspended: boolean; details?: Record<string, unknown> },
  ): Promise<SuspendedOrganization> => {
    const organizationId = fromTypedId("org", typedId);
    if (organizationId === null) throw organizationNotFound();
    return await database.transaction(async (tx) => {
      const isChanged = await setSuspended(tx, { organizationId, suspended, nowMs: clock.now() });
      const action = suspended ? "organization.suspended" : "organization.restored";
      if (isChanged && suspended) await revokeMemberSessions(tx, organizationId);
      if (isChanged)
        await recordAuditEvent(tx, { ...context, action, organizationId, subject: typedId, details });
      const [organization] = await tx.query<SuspendedOrganization>(
        sql`select id, name, type from organization where id = ${organizationId}`,
      );
      return organization as SuspendedOrganization;
    });
  };

  return {
    suspend(context, id, reason) {
      const details =
        reason === null ? {} : { details: { reason: parseOrThrow(freeText, reason, "reason") } };
      return setSuspension(context, id, { suspended: true, ...details });
    },
    async restore(context, id) {
      const organization = await setSuspension(context, id, { suspended: false });
      // After the commit: before it, workers would still see the organisation as suspended.
      notifyWorkers();
      return organization;
    },
  };
}

/** Members must sign in again after a restore, as a session from before the suspension may be compromised. */
async function revokeMemberSessions(tx: Transaction, organizationId: string): Promise<void> {
  await tx.query(sql`
    delete from user_session using user_account
    where user_account.id = user_session.user_id and user_account.organization_id = ${organizationId}::uuid`);
}

function organizationNotFound(): AppError {
  return new AppError("NotFoundException", "There is no such organisation");
}
