/** Asked at each start, before anything is served: is this the database that it was, where it was? */
import { isFeedAhead } from "../events/feed-number.service.ts";
import type { Queryable } from "../platform/database.ts";
import { StartupError } from "../platform/errors.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { keepPlace, lastPlaceOf, placeOf, type Place } from "./database-place.ts";
import { goOn, type Restoration } from "./restoration.service.ts";
import { admitSecret } from "./secret.service.ts";

/**
 * Throws a StartupError where the database was restored or copied into another place: only a person knows which. Where the
 * place is the same and PostgreSQL has another timeline, it was restored to a moment, or a standby took over, perhaps at
 * night: then what follows from it is done here and answered. Null: nothing happened. In one transaction, by one process at a
 * time.
 */
async function admitDatabase(tx: Queryable): Promise<Restoration | null> {
  const [place, last] = [await placeOf(tx), await lastPlaceOf(tx)];
  if (await isFeedAhead(tx)) throw moved();
  if (last && !isSamePlace(place, last)) throw moved();
  if (last && place.timeline !== last.timeline) return await goOn(tx, { timeline: place.timeline });
  await keepPlace(tx, place);
  return null;
}

export const WENT_ON =
  "PostgreSQL has another timeline than when it was last used: it was restored, or a standby took over. Job versions and the " +
  "events feed go on from higher numbers, and deliveries that wait are marked. After a restore see docs/backup.md";

/** All that is asked of a database at the start of a process. `tell` hears of what was done. */
export function admitting({
  box,
  tell,
}: {
  box?: SecretBox;
  tell: (restoration: Restoration) => void;
}): (tx: Queryable) => Promise<void> {
  return async (tx) => {
    const restoration = await admitDatabase(tx);
    if (restoration) tell(restoration);
    if (box) await admitSecret(tx, box);
  };
}

function isSamePlace(place: Place, last: Place): boolean {
  const isSameSystem =
    place.systemIdentifier === null ||
    last.systemIdentifier === null ||
    place.systemIdentifier === last.systemIdentifier;
  return isSameSystem && place.databaseOid === last.databaseOid;
}

function moved(): StartupError {
  return new StartupError(
    "This database was restored from a backup, or copied: it lies in another place than where it was last used.",
    "Run once, before any server starts: npx waymark after-restore (docs/backup.md). A copy for tests gets a " +
      "WAYMARK_SECRET of its own first: with that of production it sends webhooks to the partners.",
  );
}
