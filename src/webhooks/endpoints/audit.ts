/** Audit entries for endpoints. */
import type { AccessChange, RecordAccessChange } from "../../mail/api.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { toTypedId } from "../../platform/ids.ts";
import type { WebhookPrincipal } from "../tenant-scope.ts";

export interface EndpointAuditEvent {
  readonly action: Extract<AccessChange["action"], `endpoint.${string}`>;
  readonly endpoint: { readonly id: string; readonly organization_id: string; readonly url: string };
  readonly by: Pick<WebhookPrincipal, "actor" | "address" | "requestId">;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Records the event in the transaction `tx`. Stores only the URL's host, because the rest often contains a token. */
export async function recordEndpointEvent(
  recordEvent: RecordAccessChange | undefined,
  tx: Queryable,
  { action, endpoint, by: { actor, address = null, requestId = null }, details }: EndpointAuditEvent,
): Promise<void> {
  const { host } = new URL(endpoint.url);
  await recordEvent?.(tx, {
    action,
    actor,
    address,
    requestId,
    organizationId: endpoint.organization_id,
    subject: toTypedId("whe", endpoint.id),
    subjectName: host,
    details: { host, ...details },
  });
}
