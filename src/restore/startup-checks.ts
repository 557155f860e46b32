/** Asked at each start, before anything is served: is this the database that it was, where it was? */
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
 * Throws a StartupError where the database was restored or copied into another place: only a person knows which. Where the
 * place is the same and PostgreSQL has another timeline, it was restored to a moment, or a standby took over, perhaps at
 * night: then what follows from it is done here and answered. Null: nothing happened. By one process at a time.
 */
async function checkIdentity(database: LockedConnection): Promise<RecoveryResult | null> {
  const [current, last] = [await readIdentity(database), await storedIdentity(database)];
  if (await isFeedAhead(database)) throw databaseMovedError();
  // What this role may not ask is reckoned to be as it was, and is not forgotten.
  const identity = last ? withDefaults(current, last) : current;
  if (last && !isSameDatabase(identity, last)) throw databaseMovedError();
  if (isTimelineChanged(identity, last)) return await recover(database, identity);
  if (!isDeepStrictEqual(identity, last)) await saveIdentity(database, identity);
  return null;
}

export const RECOVERED_MESSAGE =
  "PostgreSQL has another timeline than when it was last used: it was restored, or a standby took over. Job versions and the " +
  "events feed go on from higher numbers, and deliveries that wait are marked. After a restore see docs/backup.md";

/** All that is asked of a database at the start of a process. `tell` hears of what was done. */
export function createStartupCheck({
  openBox,
  tell: onRecovered,
}: {
  /** Opens the box of WAYMARK_SECRET once the schema is up to date; absent: it is not checked. */
  openBox?: (database: LockedConnection) => Promise<SecretBox>;
  tell: (recovery: RecoveryResult) => void;
}): (database: LockedConnection) => Promise<void> {
  return async (database) => {
    const restoration = await checkIdentity(database);
    if (restoration) onRecovered(restoration);
    if (openBox) await checkSecret(database, await openBox(database));
  };
}

function isSameDatabase(identity: DatabaseIdentity, last: DatabaseIdentity): boolean {
  const isSameSystem = last.systemIdentifier === null || identity.systemIdentifier === last.systemIdentifier;
  return isSameSystem && identity.databaseOid === last.databaseOid;
}

/** One that was never known is no other. */
function isTimelineChanged(identity: DatabaseIdentity, last: DatabaseIdentity | null): boolean {
  return last !== null && last.timeline !== null && identity.timeline !== last.timeline;
}

function databaseMovedError(): StartupError {
  return new StartupError(
    "This database was restored from a backup, or copied: it lies in another place than where it was last used.",
    "Run once, before any server starts: npx waymark after-restore (docs/backup.md). It is the same after pg_upgrade, which " +
      "makes another place of it. A copy for tests gets a WAYMARK_SECRET of its own first: with that of production it sends " +
      "webhooks to the partners.",
  );
}
