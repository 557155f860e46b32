/**
 * What is to be done once after PostgreSQL went back to an earlier moment, so that nothing of what receivers and partners saw
 * since then is given a second time for something else. Safe to do again: it only ever goes on.
 */
import { NO_SOURCE, recordAuditEvent } from "../audit/api.ts";
import { revokeAllSessions } from "../accounts/api.ts";
import { advanceFeedSequence } from "../events/api.ts";
import { raiseVersionFloor } from "../jobs/api.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import type { LockedConnection } from "../platform/postgres/migrate.ts";
import { systemActor } from "../platform/principal.ts";
import { raw } from "../platform/postgres/sql.ts";
import { toIsoTime } from "../platform/time.ts";
import { flagPending, isWorkerRunning } from "../webhooks/api.ts";
import { saveIdentity, readIdentity, type DatabaseIdentity } from "./database-identity.ts";

export interface RecoveryResult {
  /** When the newest event happened that the database remembers: what came after it is lost. Null: it has none. */
  readonly newestEventAt: string | null;
  /** The next change of any job has this version at least. */
  readonly minNextVersion: number;
  /** Deliveries that wait and may have been sent before. */
  readonly deliveriesFlagged: number;
}

export interface RestoreResult extends RecoveryResult {
  readonly sessionsEnded: number;
}

/**
 * For the person who restored a backup. Also ends all sessions: some of them were ended since the backup. Throws
 * ConflictException while a worker runs.
 */
export async function finishRestore(database: LockedConnection): Promise<RestoreResult> {
  if (await isWorkerRunning(database))
    throw new AppError(
      "ConflictException",
      "A worker is connected to this database and may be sending. Stop all servers, and run this again.",
    );
  // As it is told now: what was known is of the place before.
  const identity = await readIdentity(database);
  const deliveriesFlagged = await flagPending(database);
  return await database.transaction(async (tx) => {
    const sessionsEnded = await revokeAllSessions(tx);
    const details = { sessions_ended: sessionsEnded };
    return { ...(await advanceSequences(tx, { identity, deliveriesFlagged, details })), sessionsEnded };
  });
}

/** For a process that finds out by itself, beside others that run. */
export async function recover(
  database: LockedConnection,
  identity: DatabaseIdentity,
): Promise<RecoveryResult> {
  // First: these may be millions, and who writes an event waits for the other step. If this ends halfway, it is begun anew.
  const deliveriesFlagged = await flagPending(database);
  const details = { timeline: identity.timeline };
  return await database.transaction((tx) => advanceSequences(tx, { identity, deliveriesFlagged, details }));
}

interface RecoveryStep {
  readonly identity: DatabaseIdentity;
  readonly deliveriesFlagged: number;
  /** What else the audit log is to tell. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** What takes no time, however much there is. */
async function advanceSequences(
  tx: Queryable,
  { identity, deliveriesFlagged, details }: RecoveryStep,
): Promise<RecoveryResult> {
  await advanceFeedSequence(tx);
  const recovery = {
    newestEventAt: await newestEventAt(tx),
    minNextVersion: await raiseVersionFloor(tx),
    deliveriesFlagged: deliveriesFlagged,
  };
  await saveIdentity(tx, identity);
  await recordAuditEvent(tx, {
    actor: systemActor,
    ...NO_SOURCE,
    action: "database.restored",
    organizationId: null,
    details: {
      newest_event_at: recovery.newestEventAt,
      min_next_version: recovery.minNextVersion,
      deliveries_flagged: recovery.deliveriesFlagged,
      ...details,
    },
  });
  return recovery;
}

async function newestEventAt(on: Queryable): Promise<string | null> {
  const [row] = await on.query<{ occurred_at: string }>(
    raw("select occurred_at from job_event order by id desc limit 1"),
  );
  return row ? toIsoTime(row.occurred_at) : null;
}
