/** Revokes the keys that a user created, in the same transaction as another change of the user. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { RecordAccessChange } from "../mail/api.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/postgres/database.ts";
import { revokeKeys, type KeyAuditEvent } from "./api-key.audit.ts";
import type { ApiKey } from "./api-key.entity.ts";
import { withAccessRevision, keysCreatedBy, type KeyCreator } from "./api-key.issue.ts";

interface KeyRevocationDeps {
  database: Database;
  clock: Clock;
  /** Absent: revocations get no audit entry and no mail. */
  recordAccessChange?: RecordAccessChange | undefined;
}

/** Revokes and records the active keys of `from`, and returns them. */
export type RevokeKeysCreatedBy = (from: KeyCreator, by: KeyAuditEvent["by"]) => Promise<ApiKey[]>;

/**
 * Runs `change` in a transaction that holds the access lock, so that no key is created concurrently. Every process rejects
 * the revoked keys within a second.
 */
export function withKeyRevocation<T>(
  deps: KeyRevocationDeps,
  change: (em: EntityManager, revokeKeysOf: RevokeKeysCreatedBy) => Promise<T>,
): Promise<T> {
  return withAccessRevision(deps.database, (em, markChanged) =>
    change(em, async (from, by) => {
      const keys = await keysCreatedBy(em, deps.clock, from);
      await revokeKeys(deps, em, { keys, by, markChanged });
      return keys;
    }),
  );
}
