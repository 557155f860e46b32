/**
 * What is to be done once after PostgreSQL went back to an earlier moment, so that nothing of what receivers and partners saw
 * since then is given a second time for something else. Safe to do again: it only ever goes on.
 */
import { NO_ORIGIN, record } from "../accounts/audit.service.ts";
import { endAllSessions } from "../accounts/session.service.ts";
import { moveFeedOn } from "../events/feed-number.service.ts";
import { raiseVersions } from "../jobs/job.version.service.ts";
import type { Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import type { LockHolder } from "../platform/migrate.ts";
import { systemActor } from "../platform/principal.ts";
import { raw } from "../platform/sql.ts";
import { toIsoTime } from "../platform/time.ts";
import { isWorkerRunning, markWaiting } from "../webhooks/restored.service.ts";
import { keepPlace, placeOf, type Place } from "./database-place.ts";

export interface Restoration {
  /** When the newest event happened that the database remembers: what came after it is lost. Null: it has none. */
  readonly newestEventAt: string | null;
  /** The next change of any job has this version at least. */
  readonly versionsFrom: number;
  /** Deliveries that wait and may have been sent before. */
  readonly deliveriesMarked: number;
}

export interface RestorationWithSessions extends Restoration {
  readonly sessionsEnded: number;
}

/**
 * For the person who restored a backup. Also ends all sessions: some of them were ended since the backup. Throws
 * ConflictException while a worker runs.
 */
export async function concludeRestore(database: LockHolder): Promise<RestorationWithSessions> {
  if (await isWorkerRunning(database))
    throw new AppError(
      "ConflictException",
      "A worker is connected to this database and may be sending. Stop all servers, and run this again.",
    );
  // As it is told now: what was known is of the place before.
  const place = await placeOf(database);
  const deliveriesMarked = await markWaiting(database);
  return await database.transaction(async (tx) => {
    const sessionsEnded = await endAllSessions(tx);
    const details = { sessions_ended: sessionsEnded };
    return { ...(await moveOn(tx, { place, deliveriesMarked, details })), sessionsEnded };
  });
}

/** For a process that finds out by itself, beside others that run. */
export async function goOn(database: LockHolder, place: Place): Promise<Restoration> {
  // First: these may be millions, and who writes an event waits for the other step. If this ends halfway, it is begun anew.
  const deliveriesMarked = await markWaiting(database);
  const details = { timeline: place.timeline };
  return await database.transaction((tx) => moveOn(tx, { place, deliveriesMarked, details }));
}

interface Step {
  readonly place: Place;
  readonly deliveriesMarked: number;
  /** What else the audit log is to tell. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** What takes no time, however much there is. */
async function moveOn(tx: Queryable, { place, deliveriesMarked, details }: Step): Promise<Restoration> {
  await moveFeedOn(tx);
  const restoration = {
    newestEventAt: await newestEventAt(tx),
    versionsFrom: await raiseVersions(tx),
    deliveriesMarked,
  };
  await keepPlace(tx, place);
  await record(tx, {
    actor: systemActor,
    ...NO_ORIGIN,
    action: "database.restored",
    organizationId: null,
    details: {
      newest_event_at: restoration.newestEventAt,
      versions_from: restoration.versionsFrom,
      deliveries_marked: restoration.deliveriesMarked,
      ...details,
    },
  });
  return restoration;
}

async function newestEventAt(on: Queryable): Promise<string | null> {
  const [row] = await on.query<{ occurred_at: string }>(
    raw("select occurred_at from job_event order by id desc limit 1"),
  );
  return row ? toIsoTime(row.occurred_at) : null;
}
