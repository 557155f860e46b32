/** The HTTP client's details that account services need. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { type AuditEvent, recordAuditEvent } from "../../audit/api.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { systemActor } from "../../core/principal.ts";
import type { User } from "../../organizations/api.ts";
import type { AccountContext } from "../context.ts";

export interface ClientInfo {
  readonly cookie: string | undefined;
  readonly ipAddress: string;
  readonly userAgent: string | undefined;
  readonly requestId: string;
}

/** Records a failed sign-in to an existing account in the background, so that it takes no longer to answer than an unknown one. */
export function recordFailedSignIn(
  { backgroundQueue, database }: Pick<AccountContext, "backgroundQueue" | "database">,
  user: User,
  { ipAddress, requestId }: ClientInfo,
  details: AuditEvent["details"],
): void {
  backgroundQueue.run("record a failed sign-in", async () => {
    await recordAuditEvent(database, {
      action: "session.sign_in_failed",
      actor: systemActor,
      organizationId: user.organization?.id ?? null,
      subject: user.email,
      details,
      ipAddress,
      requestId,
    });
  });
}

/** Records an action of a signed-in user on their own account. `on`: the transaction of the change. */
export async function recordUserEvent(
  on: Reader | EntityManager,
  { actor, organizationId }: Pick<AuditEvent, "actor" | "organizationId">,
  { ipAddress, requestId }: ClientInfo,
  event: Pick<AuditEvent, "action" | "details">,
): Promise<void> {
  await recordAuditEvent(on, { ...event, actor, organizationId, ipAddress, requestId });
}
