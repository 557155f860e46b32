/** Migrations, one process at a time. */
import { setTimeout as pause } from "node:timers/promises";
import { MikroORM, type MigrationsOptions } from "@mikro-orm/postgresql";
import type { Pool, PoolClient } from "pg";
import { ormOptions, type DatabaseOptions, type Queryable } from "./database.ts";
import { toUnavailable, isContentionError, isConnectionError, isAuthError } from "./errors.ts";
import { StartupError } from "../errors.ts";
import { raw, type Sql } from "./sql.ts";

/** The advisory lock that processes take in turn ("wamk"). */
const MIGRATION_LOCK = 0x77616d6b;
/** No limit: an index on a large table takes what it takes. */
const NO_TIMEOUT = 0;
/** Who comes after a migration that waits for a table waits behind it: so it does not wait longer in one go. */
const LOCK_TIMEOUT_MS = 2_000;
/** Between two tries to take the migration lock. */
const LOCK_POLL_INTERVAL_MS = 200;
/** Until it tries again. They have their turn, and those who hold the table may end. */
const RETRY_DELAY_MS = 3_000;
/** Five minutes. */
const MAX_ATTEMPTS = 60;
/** A database without it that records other migrations was created by a version before the first release. */
const INITIAL_MIGRATION = "20261123000000-initial";

type MigratorApi = Pick<MikroORM["migrator"], "getExecuted" | "getPending" | "up">;

/** Under the lock: each statement by itself, or several in one transaction. */
export interface LockedConnection extends Queryable {
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
}

export interface MigrationHooks {
  /** What else nobody may begin without, under the same lock. */
  readonly afterMigrate?: (database: LockedConnection) => Promise<void>;
  /** Is told once, in a sentence, where a migration has to wait for a table that others use. */
  readonly onLockWait?: (sentence: string) => void;
  /** Replaces the migrations in `src/migrations`, for tests. */
  readonly migrationsList?: NonNullable<MigrationsOptions["migrationsList"]>;
}

const TABLE_LOCKED_MESSAGE =
  "A table that a migration has to change is in use; it is tried again every few seconds.";

/**
 * Brings the schema up to date and answers with the names of the migrations that it applied. A process that starts
 * meanwhile waits for the lock and then finds nothing to do. Throws a StartupError where the database cannot be used, was
 * created by a version before the first release, or a table is in use for minutes.
 */
export async function migrateDatabase(
  options: DatabaseOptions,
  { afterMigrate, onLockWait, migrationsList }: MigrationHooks = {},
): Promise<string[]> {
  const session = { ...options.session, lock_timeout: String(LOCK_TIMEOUT_MS) };
  const settings = ormOptions({ ...options, session, poolSize: 2 }, NO_TIMEOUT);
  const migrations = { ...settings.migrations, ...(migrationsList && { migrationsList }) };
  const orm = await MikroORM.init({ ...settings, migrations });
  try {
    const pool: Pool = await orm.em.getConnection().getNativeClient();
    const connection = await pool.connect();
    try {
      await connection.query("set lock_timeout = 0");
      await acquireMigrationLock(connection);
      const applied = await applyPending(orm.migrator, onLockWait);
      await afterMigrate?.(createLockedConnection(connection));
      return applied;
    } finally {
      // The lock goes with its connection, also when a migration failed halfway.
      connection.release(true);
    }
  } catch (error) {
    throw toStartupError(options.url, error);
  } finally {
    await orm.close(true);
  }
}

/**
 * Polls until the lock is free. A statement that waits for it would hold a snapshot, and `create index concurrently` of the
 * process that has the lock waits for every older snapshot: a deadlock.
 */
async function acquireMigrationLock(client: PoolClient): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      MIGRATION_LOCK,
    ]);
    if (rows[0]?.taken) return;
    await pause(LOCK_POLL_INTERVAL_MS);
  }
}

async function applyPending(
  migrator: MigratorApi,
  onLockWait?: MigrationHooks["onLockWait"],
): Promise<string[]> {
  const pending = await migrator.getPending();
  // As at most starts: `up` would look once more.
  if (pending.length === 0) return [];
  await rejectUnreleasedSchema(migrator, pending);
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Each is recorded as it is applied: the next try goes on with the one that failed.
      await migrator.up();
      return pending.map(({ name }) => name);
    } catch (error) {
      if (!isContentionError(error) || attempt === MAX_ATTEMPTS) throw error;
      if (attempt === 1) onLockWait?.(TABLE_LOCKED_MESSAGE);
      await pause(RETRY_DELAY_MS);
    }
  }
}

/** Names of later versions are no obstacle: a release is rolled back by starting the version before it. */
async function rejectUnreleasedSchema(
  migrator: MigratorApi,
  pending: readonly { name: string }[],
): Promise<void> {
  if (!pending.some(({ name }) => name === INITIAL_MIGRATION) || (await migrator.getExecuted()).length === 0)
    return;
  throw new StartupError(
    "This database was created by a development version of Waymark, before the first release. It cannot be migrated.",
    "Use an empty database. For the embedded PostgreSQL, delete the data folder (WAYMARK_DATA_DIR, .waymark by default); " +
      "this deletes all of its data.",
  );
}

/** A failure needs no rollback: the connection goes with it. */
function createLockedConnection(client: PoolClient): LockedConnection {
  const query = async <Row>(statement: Sql): Promise<Row[]> => {
    const { text, values } = statement.compile();
    return (await client.query<Row & object>(text, values)).rows;
  };
  return {
    query,
    async transaction(work) {
      await query(raw("begin"));
      const result = await work({ query });
      await query(raw("commit"));
      return result;
    },
  };
}

/** What the person who starts the program can mend is said without a stack; the address without its password. */
function toStartupError(url: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { host, pathname } = new URL(url);
  const server = `PostgreSQL at ${host}${pathname}`;
  const hint = "Correct DATABASE_URL, or leave it empty for the embedded PostgreSQL.";
  if (isAuthError(error)) return new StartupError(`${server} refuses: ${error.message}.`, hint, error);
  if (isConnectionError(error))
    return new StartupError(`${server} cannot be reached: ${error.message}.`, hint, error);
  if (isContentionError(error))
    return new StartupError(
      `${server} has a table in use that a migration has to change: ${error.message}.`,
      "End what uses it for so long (pg_stat_activity shows it), and start again: what was applied stays.",
      error,
    );
  // It is there, and says what it has not got: the disk is full, for example.
  const isShort = toUnavailable(error) !== null;
  return isShort
    ? new StartupError(`${server} cannot: ${error.message}.`, "Mend what it names, and start again.", error)
    : error;
}
