/** What the audit log says of keys. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { AccessAct, KeepAccessAct } from "../accounts/access-notices.service.ts";
import type { Origin } from "../accounts/audit.service.ts";
import { queriesOf } from "../platform/em-queries.ts";
import { toTypedId } from "../platform/ids.ts";
import type { Actor } from "../platform/principal.ts";
import type { Clock } from "../platform/clock.ts";
import type { ApiKey } from "./api-key.entity.ts";
import { revokeKey, type NoteChange } from "./api-key.issue.ts";

export interface KeyAct {
  readonly action: Extract<AccessAct["action"], `key.${string}`>;
  readonly key: ApiKey;
  readonly by: { readonly actor: Actor } & Partial<Origin>;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Keeps it in the transaction of `em`. */
export async function keepKeyAct(
  keep: KeepAccessAct | undefined,
  em: EntityManager,
  { action, key, by, details }: KeyAct,
): Promise<void> {
  const { actor, address = null, requestId = null } = by;
  await keep?.(queriesOf(em), {
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

/** Revokes those of `keys` that are not revoked, and records each; without `by` nothing is recorded. */
export async function revokeKeys(
  { clock, keepAct }: { clock: Clock; keepAct?: KeepAccessAct | undefined },
  em: EntityManager,
  { keys, by, noteChange }: { keys: readonly ApiKey[]; by: KeyAct["by"] | undefined; noteChange: NoteChange },
): Promise<void> {
  for (const key of keys) {
    if (revokeKey(key, clock, noteChange) && by)
      await keepKeyAct(keepAct, em, { action: "key.revoked", key, by });
  }
}
