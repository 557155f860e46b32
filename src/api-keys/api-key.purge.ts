/** Deletes keys that ended long ago. Events, the request log and audit entries contain the key's id and need no row. */
import { raw } from "@mikro-orm/postgresql";
import type { Database } from "../platform/postgres/database.ts";
import { ApiKey } from "./api-key.entity.ts";

/** Deletes keys revoked or expired more than `retentionDays` ago by PostgreSQL's clock. Returns their number. */
export function purgeEndedKeys(database: Database, retentionDays: number): Promise<number> {
  const before = () => raw("now() - make_interval(days => ?)", [retentionDays]);
  return database.em().nativeDelete(ApiKey, {
    $or: [{ revokedAt: { $lt: before() } }, { expiresAt: { $lt: before() } }],
  });
}
