/** The HTTP client's details that account services need. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { type AuditEvent, recordAuditEvent } from "../../audit/api.ts";
import type { Reader } from "../../core/postgres/database.ts";

export interface ClientInfo {
  readonly cookie: string | undefined;
  readonly ipAddress: string;
  readonly userAgent: string | undefined;
  readonly requestId: string;
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
