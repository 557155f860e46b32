/**
 * The check at every start that the database was not restored or copied, and recovery after a restore: version and feed numbers
 * that clients have seen are not assigned again. Safe to repeat, because numbers only increase.
 */
import { isDeepStrictEqual } from "node:util";
import { NO_SOURCE, recordAuditEvent } from "../audit/api.ts";
import { revokeAllSessions } from "../accounts/api.ts";
import { advanceFeedSequence, isFeedAhead } from "../events/api.ts";
import { raiseVersionFloor } from "../jobs/api.ts";
import type { Reader } from "../core/postgres/database.ts";
import { AppError, StartupError } from "../core/errors.ts";
import type { LockedConnection } from "../core/postgres/migrate.ts";
import { systemActor } from "../core/principal.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { countWorkers, flagPending } from "../webhooks/api.ts";
import {
  type DatabaseIdentity,
  newestEventAt,
  readIdentity,
  saveIdentity,
  storedIdentity,
  withDefaults,
} from "./database-identity.sql.ts";
import { checkSecret } from "./secret-check.service.ts";

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
  if ((await countWorkers(database)) > 0)
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
async function recover(database: LockedConnection, identity: DatabaseIdentity): Promise<RecoveryResult> {
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
  tx: Reader,
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
  "numbers and flagged pending deliveries. After a restore, see docs/operate/backup.md";

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
    "Run this once, before any server starts: waymark after-restore (docs/operate/backup.md). Run it after pg_upgrade too, which " +
      "creates a new cluster. Give a test copy another WAYMARK_SECRET first: with the production secret, it sends " +
      "webhooks to partners.",
  );
}
