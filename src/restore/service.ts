/**
 * The check at every start that the database was not restored or copied, and recovery after a restore: version and feed numbers
 * that clients have seen are not assigned again. Safe to repeat, because numbers only increase.
 */
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
} from "./database-identity.sql.ts";
import { checkSecret } from "./secret-check.service.ts";

export interface RestoreResult {
  /** Time of the newest event in the database; later changes are lost. Null if there are no events. */
  readonly newestEventAt: string | null;
  /** Minimum version of the next change of any job. */
  readonly minNextVersion: number;
  /** Number of pending deliveries that may have been sent before. */
  readonly deliveriesFlagged: number;
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
  return await recover(database, await readIdentity(database), revokeAllSessions);
}

/** Raises the feed sequence and the version floor, flags pending deliveries, and stores identity and audit entry. */
async function recover(
  database: LockedConnection,
  identity: DatabaseIdentity,
  endSessions: (tx: Reader) => Promise<number>,
): Promise<RestoreResult> {
  // First, because it may update millions of rows, and the transaction below blocks event writers. Safe to repeat.
  const deliveriesFlagged = await flagPending(database);
  return await database.transaction(async (tx) => {
    const sessionsEnded = await endSessions(tx);
    await advanceFeedSequence(tx);
    const newest = await newestEventAt(tx);
    const minNextVersion = await raiseVersionFloor(tx);
    await saveIdentity(tx, identity);
    await recordAuditEvent(tx, {
      actor: systemActor,
      ...NO_SOURCE,
      action: "database.restored",
      organizationId: null,
      details: {
        newest_event_at: newest,
        min_next_version: minNextVersion,
        deliveries_flagged: deliveriesFlagged,
        sessions_ended: sessionsEnded,
        timeline: identity.timeline,
      },
    });
    return { newestEventAt: newest, minNextVersion, deliveriesFlagged, sessionsEnded };
  });
}

export const RECOVERED_MESSAGE =
  "PostgreSQL is on a new timeline: it was restored, or a standby was promoted. Waymark raised job versions and feed " +
  "numbers and flagged pending deliveries. After a restore, see docs/operate/backup.md";

interface StartupCheckOptions {
  /** Opens the secret box once the schema is up to date. Without it, the secret is not checked. */
  readonly openBox?: (database: LockedConnection) => Promise<SecretBox>;
  readonly onRecovered: (recovery: RestoreResult) => void;
}

/**
 * The check after migrations; must run in one process at a time. Throws StartupError if the database runs on another cluster,
 * because only a person knows whether it was restored or copied. A new timeline means a point-in-time restore or a failover:
 * recovers, and calls `onRecovered`.
 */
export async function checkDatabase(
  database: LockedConnection,
  { openBox, onRecovered }: StartupCheckOptions,
): Promise<void> {
  const [current, last] = [await readIdentity(database), await storedIdentity(database)];
  if (await isFeedAhead(database)) throw databaseMovedError();
  // Parts that this role may not read are assumed unchanged.
  const systemIdentifier = current.systemIdentifier ?? last?.systemIdentifier ?? null;
  const identity = { ...current, systemIdentifier, timeline: current.timeline || (last?.timeline ?? 0) };
  const isSameCluster = !last?.systemIdentifier || last.systemIdentifier === systemIdentifier;
  const isSameDatabase = !last || last.databaseOid === identity.databaseOid;
  if (!isSameCluster || !isSameDatabase) throw databaseMovedError();
  // A promoted standby may have lost nothing, so sessions stay valid.
  if (last?.timeline && last.timeline !== identity.timeline)
    onRecovered(await recover(database, identity, () => Promise.resolve(0)));
  else await saveIdentity(database, identity);
  if (openBox) await checkSecret(database, await openBox(database));
}

function databaseMovedError(): StartupError {
  return new StartupError(
    "This database was restored from a backup, or copied: it runs on another PostgreSQL cluster than before.",
    "Run this once, before any server starts: waymark after-restore (docs/operate/backup.md). Run it after pg_upgrade too, which " +
      "creates a new cluster. Give a test copy another WAYMARK_SECRET first: with the production secret, it sends " +
      "webhooks to partners.",
  );
}
