/** Shutting an organisation out and letting it in again: its keys, its people's sessions and its deliveries, all at once. */
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

/** `id`: typed. Whether the caller is an operator is the caller's to know. Throws NotFoundException. Doing it again is no error. */
export interface SuspensionService {
  /**
   * Keys are refused within a second. The members' sessions are deleted, so they sign in again after a restore. No delivery is begun any more. What waits, and what is still to
   * happen to its jobs, is delivered when it is restored. `reason`: for the audit log.
   */
  suspend(context: AuditContext, id: string, reason: string | null): Promise<SuspendedOrganization>;
  restore(context: AuditContext, id: string): Promise<SuspendedOrganization>;
}

export interface SuspensionDeps {
  database: Database;
  clock: Clock;
  /** Tells workers that there may be something to deliver. */
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
      // Only now, since whoever is told sooner still finds it suspended.
      notifyWorkers();
      return organization;
    },
  };
}

/** Members sign in again after a restore: a session from before the suspension may be in the wrong hands. */
async function revokeMemberSessions(tx: Transaction, organizationId: string): Promise<void> {
  await tx.query(sql`
    delete from user_session using user_account
    where user_account.id = user_session.user_id and user_account.organization_id = ${organizationId}::uuid`);
}

function organizationNotFound(): AppError {
  return new AppError("NotFoundException", "There is no such organisation");
}
