/** Records changes of API keys in the audit log. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { AccessChange, RecordAccessChange } from "../mail/api.ts";
import type { AuditSource } from "../audit/api.ts";
import { asQueryable } from "../platform/postgres/entity-manager-queryable.ts";
import { toTypedId } from "../platform/ids.ts";
import type { Actor } from "../platform/principal.ts";
import type { Clock } from "../platform/clock.ts";
import type { ApiKey } from "./api-key.entity.ts";
import { revokeKey, type MarkChanged } from "./api-key.issue.ts";

export interface KeyAuditEvent {
  readonly action: Extract<AccessChange["action"], `key.${string}`>;
  readonly key: ApiKey;
  readonly by: { readonly actor: Actor } & Partial<AuditSource>;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Records the event in `em`'s transaction. */
export async function recordKeyEvent(
  recordAccessChange: RecordAccessChange | undefined,
  em: EntityManager,
  { action, key, by, details }: KeyAuditEvent,
): Promise<void> {
  const { actor, address = null, requestId = null } = by;
  await recordAccessChange?.(asQueryable(em), {
    action,
    actor,
    address,
    requestId,
    organizationId: key.organization?.id ?? null,
    subject: toTypedId("key", key.id),
    subjectName: `${key.name} (wmk_${key.lookup})`,
    details: { name: key.name, starts_with: `wmk_${key.lookup}`, scopes: key.scopes, ...details },
  });
}

/** Revokes the `keys` that aren't revoked yet, and records each. Without `by`, nothing is recorded. */
export async function revokeKeys(
  { clock, recordAccessChange }: { clock: Clock; recordAccessChange?: RecordAccessChange | undefined },
  em: EntityManager,
  {
    keys,
    by,
    markChanged,
  }: { keys: readonly ApiKey[]; by: KeyAuditEvent["by"] | undefined; markChanged: MarkChanged },
): Promise<void> {
  for (const key of keys) {
    if (revokeKey(key, clock, markChanged) && by)
      await recordKeyEvent(recordAccessChange, em, { action: "key.revoked", key, by });
  }
}
