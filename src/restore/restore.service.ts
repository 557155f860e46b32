/**
 * Recovery after PostgreSQL was restored to an earlier state: ensures that version and feed numbers that clients have seen
 * are not assigned again. Safe to repeat, because numbers only increase.
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
  /** Time of the newest event in the database; later changes are lost. Null if there are no events. */
  readonly newestEventAt: string | null;
  /** Minimum version of the next change of any job. */
  readonly minNextVersion: number;
  /** Number of pending deliveries that may have been sent before. */
  readonly deliveriesFlagged: number;
}

export interface RestoreResult extends RecoveryResult {
  readonly sessionsEnded: number;
}

/**
 * Recovers after an administrator restored a backup. Also revokes all sessions, because the backup contains sessions that
 * have been revoked since. Throws ConflictException while a worker is connected.
 */
export async function finishRestore(database: LockedConnection): Promise<RestoreResult> {
  if (await isWorkerRunning(database))
    throw new AppError(
      "ConflictException",
      "A worker is connected to this database and may be sending. Stop all servers, and run this again.",
    );
  // Without defaults from the stored identity, which may be that of another cluster.
  const identity = await readIdentity(database);
  const deliveriesFlagged = await flagPending(database);
  return await database.transaction(async (tx) => {
    const sessionsEnded = await revokeAllSessions(tx);
    const details = { sessions_ended: sessionsEnded };
    return { ...(await advanceSequences(tx, { identity, deliveriesFlagged, details })), sessionsEnded };
  });
}

/** Recovers at the start of a process that detects a new timeline, while other processes may run. */
export async function recover(
  database: LockedConnection,
  identity: DatabaseIdentity,
): Promise<RecoveryResult> {
  // First, because it may update millions of rows, and the transaction below blocks event writers. Safe to repeat.
  const deliveriesFlagged = await flagPending(database);
  const details = { timeline: identity.timeline };
  return await database.transaction((tx) => advanceSequences(tx, { identity, deliveriesFlagged, details }));
}

interface RecoveryStep {
  readonly identity: DatabaseIdentity;
  readonly deliveriesFlagged: number;
  /** Additional details for the audit log. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Raises the feed sequence and the version floor, and stores identity and audit entry. Constant time. */
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
