/** Checks at every start, before serving, that the database was not restored or copied, and that WAYMARK_SECRET matches. */
import { isDeepStrictEqual } from "node:util";
import { isFeedAhead } from "../events/api.ts";
import { StartupError } from "../platform/errors.ts";
import type { LockedConnection } from "../platform/postgres/migrate.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import {
  withDefaults,
  saveIdentity,
  storedIdentity,
  readIdentity,
  type DatabaseIdentity,
} from "./database-identity.ts";
import { recover, type RecoveryResult } from "./restore.service.ts";
import { checkSecret } from "./secret-check.service.ts";

/**
 * Throws StartupError if the database runs on another cluster, because only a person knows whether it was restored or copied.
 * A new timeline means a point-in-time restore or a failover: recovers and returns the result. Otherwise returns null. Must
 * run in one process at a time.
 */
async function checkIdentity(database: LockedConnection): Promise<RecoveryResult | null> {
  const [current, last] = [await readIdentity(database), await storedIdentity(database)];
  if (await isFeedAhead(database)) throw databaseMovedError();
  // Parts that this role may not read are assumed unchanged.
  const identity = last ? withDefaults(current, last) : current;
  if (last && !isSameDatabase(identity, last)) throw databaseMovedError();
  if (isTimelineChanged(identity, last)) return await recover(database, identity);
  if (!isDeepStrictEqual(identity, last)) await saveIdentity(database, identity);
  return null;
}

export const RECOVERED_MESSAGE =
  "PostgreSQL is on a new timeline: it was restored, or a standby was promoted. Waymark raised job versions and feed " +
  "numbers and flagged pending deliveries. After a restore, see docs/backup.md";

/** Returns the check to run after migrations. It throws StartupError. `onRecovered` is called after an automatic recovery. */
export function createStartupCheck({
  openBox,
  onRecovered,
}: {
  /** Opens the secret box once the schema is up to date. Without it, the secret is not checked. */
  openBox?: (database: LockedConnection) => Promise<SecretBox>;
  onRecovered: (recovery: RecoveryResult) => void;
}): (database: LockedConnection) => Promise<void> {
  return async (database) => {
    const recovery = await checkIdentity(database);
    if (recovery) onRecovered(recovery);
    if (openBox) await checkSecret(database, await openBox(database));
  };
}

function isSameDatabase(identity: DatabaseIdentity, last: DatabaseIdentity): boolean {
  const isSameSystem = last.systemIdentifier === null || identity.systemIdentifier === last.systemIdentifier;
  return isSameSystem && identity.databaseOid === last.databaseOid;
}

/** True if both timelines are known and differ. */
function isTimelineChanged(identity: DatabaseIdentity, last: DatabaseIdentity | null): boolean {
  return last !== null && last.timeline !== null && identity.timeline !== last.timeline;
}

function databaseMovedError(): StartupError {
  return new StartupError(
    "This database was restored from a backup, or copied: it runs on another PostgreSQL cluster than before.",
    "Run this once, before any server starts: npx waymark after-restore (docs/backup.md). Run it after pg_upgrade too, which " +
      "creates a new cluster. Give a test copy another WAYMARK_SECRET first: with the production secret, it sends " +
      "webhooks to partners.",
  );
}
