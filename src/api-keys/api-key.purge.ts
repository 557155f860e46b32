/** Deletes keys that ended long ago. Events, requests and audit entries name a key by its id and need no row of it. */
import { raw } from "@mikro-orm/postgresql";
import type { Database } from "../platform/postgres/database.ts";
import { ApiKey } from "./api-key.entity.ts";

/** Those that were revoked or have expired more than `retentionDays` ago, by PostgreSQL's clock. Returns how many. */
export function purgeEndedKeys(database: Database, retentionDays: number): Promise<number> {
  const before = () => raw("now() - make_interval(days => ?)", [retentionDays]);
  return database.em().nativeDelete(ApiKey, {
    $or: [{ revokedAt: { $lt: before() } }, { expiresAt: { $lt: before() } }],
  });
}
