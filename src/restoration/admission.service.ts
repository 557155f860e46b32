/** Asked at each start, before anything is served: is this the database that it was, where it was? */
import { isDeepStrictEqual } from "node:util";
import { isFeedAhead } from "../events/feed-number.service.ts";
import { StartupError } from "../platform/errors.ts";
import type { LockHolder } from "../platform/migrate.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { completed, keepPlace, lastPlaceOf, placeOf, type Place } from "./database-place.ts";
import { goOn, type Restoration } from "./restoration.service.ts";
import { admitSecret } from "./secret.service.ts";

/**
 * Throws a StartupError where the database was restored or copied into another place: only a person knows which. Where the
 * place is the same and PostgreSQL has another timeline, it was restored to a moment, or a standby took over, perhaps at
 * night: then what follows from it is done here and answered. Null: nothing happened. By one process at a time.
 */
async function admitDatabase(database: LockHolder): Promise<Restoration | null> {
  const [asked, last] = [await placeOf(database), await lastPlaceOf(database)];
  if (await isFeedAhead(database)) throw moved();
  // What this role may not ask is reckoned to be as it was, and is not forgotten.
  const place = last ? completed(asked, last) : asked;
  if (last && !isSamePlace(place, last)) throw moved();
  if (isOtherTimeline(place, last)) return await goOn(database, place);
  if (!isDeepStrictEqual(place, last)) await keepPlace(database, place);
  return null;
}

export const WENT_ON =
  "PostgreSQL has another timeline than when it was last used: it was restored, or a standby took over. Job versions and the " +
  "events feed go on from higher numbers, and deliveries that wait are marked. After a restore see docs/backup.md";

/** All that is asked of a database at the start of a process. `tell` hears of what was done. */
export function admitting({
  openBox,
  tell,
}: {
  /** Opens the box of WAYMARK_SECRET once the schema is up to date; absent: it is not checked. */
  openBox?: (database: LockHolder) => Promise<SecretBox>;
  tell: (restoration: Restoration) => void;
}): (database: LockHolder) => Promise<void> {
  return async (database) => {
    const restoration = await admitDatabase(database);
    if (restoration) tell(restoration);
    if (openBox) await admitSecret(database, await openBox(database));
  };
}

function isSamePlace(place: Place, last: Place): boolean {
  const isSameSystem = last.systemIdentifier === null || place.systemIdentifier === last.systemIdentifier;
  return isSameSystem && place.databaseOid === last.databaseOid;
}

/** One that was never known is no other. */
function isOtherTimeline(place: Place, last: Place | null): boolean {
  return last !== null && last.timeline !== null && place.timeline !== last.timeline;
}

function moved(): StartupError {
  return new StartupError(
    "This database was restored from a backup, or copied: it lies in another place than where it was last used.",
    "Run once, before any server starts: npx waymark after-restore (docs/backup.md). It is the same after pg_upgrade, which " +
      "makes another place of it. A copy for tests gets a WAYMARK_SECRET of its own first: with that of production it sends " +
      "webhooks to the partners.",
  );
}
