/** Revokes the keys that a user created, in one transaction with what else happens to the user. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { KeepAccessAct } from "../accounts/access-notices.service.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import { revokeKeys, type KeyAct } from "./api-key.acts.ts";
import type { ApiKey } from "./api-key.entity.ts";
import { changeAccess, keysCreatedBy, type KeyCreator } from "./api-key.issue.ts";

interface Parts {
  database: Database;
  clock: Clock;
  /** Absent: no act is recorded. */
  keepAct?: KeepAccessAct | undefined;
}

/** Revokes and records the good keys of `from`, and returns them. */
export type RevokeKeysOf = (from: KeyCreator, by: KeyAct["by"]) => Promise<ApiKey[]>;

/**
 * Runs `change` in a transaction that holds the access lock: until it ends, no key is created. Every process rejects
 * the revoked keys within a second.
 */
export function changeWithKeys<T>(
  parts: Parts,
  change: (em: EntityManager, revokeKeysOf: RevokeKeysOf) => Promise<T>,
): Promise<T> {
  return changeAccess(parts.database, (em, noteChange) =>
    change(em, async (from, by) => {
      const keys = await keysCreatedBy(em, parts.clock, from);
      await revokeKeys(parts, em, { keys, by, noteChange });
      return keys;
    }),
  );
}
