/** What the audit log says of endpoints. */
import type { AccessAct, KeepAccessAct } from "../accounts/access-notices.service.ts";
import type { Queryable } from "../platform/database.ts";
import { toTypedId } from "../platform/ids.ts";
import type { Caller } from "./caller.ts";

export interface EndpointAct {
  readonly action: Extract<AccessAct["action"], `endpoint.${string}`>;
  readonly endpoint: { readonly id: string; readonly organization_id: string; readonly url: string };
  readonly by: Pick<Caller, "actor" | "address" | "requestId">;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Keeps it in the transaction `tx`. Of URLs only the host is kept: the rest often holds a token. */
export async function keepEndpointAct(
  keep: KeepAccessAct | undefined,
  tx: Queryable,
  { action, endpoint, by: { actor, address = null, requestId = null }, details }: EndpointAct,
): Promise<void> {
  const { host } = new URL(endpoint.url);
  await keep?.(tx, {
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
