/** Suspends an organisation without an operator. */
import { lockOrganization } from "../../../src/api-keys/api.ts";
import type { Database } from "../../../src/core/postgres/database.ts";

/** Every process rejects the keys of the organisation (a UUID) within a second. `suspended`: false restores it. */
export function suspend(database: Database, organizationId: string, suspended = true): Promise<void> {
  return database.transaction(async (tx) => {
    const suspendedAt = suspended ? new Date() : null;
    for (const each of await lockOrganization(tx, organizationId)) each.suspendedAt = suspendedAt;
  });
}
