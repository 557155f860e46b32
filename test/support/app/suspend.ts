/** Suspends an organisation without an operator. */
import { setSuspended } from "../../../src/api-keys/api.ts";
import type { Database } from "../../../src/core/postgres/database.ts";

/** Every process rejects the keys of the organisation (a UUID) within a second. `suspended`: false restores it. */
export function suspend(database: Database, organizationId: string, suspended = true): Promise<boolean> {
  return database.transaction((tx) => setSuspended(tx, { organizationId, suspended, nowMs: Date.now() }));
}
