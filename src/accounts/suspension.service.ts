/** Suspends and restores organisations. */
import { randomUUID } from "node:crypto";
import { setSuspended } from "../api-keys/api.ts";
import { AppError } from "../core/errors.ts";
import { fromTypedId } from "../core/ids.ts";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { Organization, User } from "../organizations/api.ts";
import type { AccountContext } from "./context.ts";
import { UserSession } from "./sessions/entity.ts";

/** `id`: typed. The caller must check that the principal is an operator. Throws NotFoundException. Both methods are idempotent. */
export class SuspensionService {
  readonly #context: Pick<AccountContext, "database" | "clock" | "notifyWorkers">;

  constructor(context: Pick<AccountContext, "database" | "clock" | "notifyWorkers">) {
    this.#context = context;
  }

  /**
   * Every process rejects the organisation's keys within a second. Its members' sessions are deleted. Its deliveries are
   * queued but not sent until it is restored. `reason`: for the audit log.
   */
  suspend(context: AuditContext, id: string, reason: string | null): Promise<Organization> {
    const details = reason === null ? null : { reason };
    return this.#setSuspended(context, id, { suspended: true, details });
  }

  async restore(context: AuditContext, id: string): Promise<Organization> {
    const organization = await this.#setSuspended(context, id, { suspended: false, details: null });
    // After the commit: before it, workers would still see the organisation as suspended.
    this.#context.notifyWorkers();
    return organization;
  }

  async #setSuspended(
    context: AuditContext,
    typedId: string,
    { suspended, details }: { suspended: boolean; details: Record<string, unknown> | null },
  ): Promise<Organization> {
    const { database, clock } = this.#context;
    const organizationId = fromTypedId("org", typedId);
    if (organizationId === null) throw new AppError("NotFoundException", "There is no such organisation");
    return await database.transactional(async (em, tx) => {
      const isChanged = await setSuspended(tx, { organizationId, suspended, nowMs: clock.now() });
      const action = suspended ? "organization.suspended" : "organization.restored";
      // Members must sign in again after a restore, as a session from before the suspension may be compromised.
      if (isChanged && suspended) {
        const members = { organization: organizationId };
        await em.nativeUpdate(User, members, { epoch: randomUUID() });
        await em.nativeDelete(UserSession, { user: members });
      }
      if (isChanged)
        await recordAuditEvent(em, { ...context, action, organizationId, subject: typedId, details });
      return await em.findOneOrFail(Organization, { id: organizationId });
    });
  }
}
