/** Applies migrations, one process at a time. */
import { setTimeout as pause } from "node:timers/promises";
import { MikroORM, type EntityManager, type MigrationsOptions } from "@mikro-orm/postgresql";
import type { Pool, PoolClient } from "pg";
import type { Reader } from "./database.ts";
import { bindEntityManager } from "./entity-manager-connection.ts";
import { ormOptions, type DatabaseOptions } from "./orm-options.ts";
import { toUnavailable, isContentionError, isConnectionError, isAuthError } from "./errors.ts";
import { StartupError } from "../errors.ts";
import { raw, type Sql } from "./sql.ts";

/** The advisory lock that only one migrating process can hold ("wamk"). */
const MIGRATION_LOCK = 0x77616d6b;
/** While a migration waits for a table lock, all later statements on that table wait behind it. */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_POLL_INTERVAL_MS = 200;
/** Lets waiting statements run, and gives the transaction that holds the table time to end. */
const RETRY_DELAY_MS = 3_000;
/** About five minutes, with each attempt's lock timeout and the delay after it. */
const MAX_ATTEMPTS = 60;

/** A connection that holds the migration lock. */
export interface LockedConnection extends Reader {
  transaction<T>(work: (tx: Reader) => Promise<T>): Promise<T>;
}

export interface MigrationHooks {
  /** Runs after the migrations, under the same lock. */
  readonly afterMigrate?: (database: LockedConnection) => Promise<void>;
  /** Called once, with a message for the log, if a migration has to wait for a table. */
  readonly onLockWait?: (message: string) => void;
  /** Replaces the migrations in `src/migrations`, for tests. */
  readonly migrationsList?: NonNullable<MigrationsOptions["migrationsList"]>;
}

/**
 * Applies pending migrations and returns their names. Waits while another process migrates. Throws a StartupError if the
 * database is unusable, or a table stays in use for minutes. Migrations of a later version are allowed in the database.
 */
export async function migrateDatabase(
  options: DatabaseOptions,
  { afterMigrate, onLockWait, migrationsList }: MigrationHooks = {},
): Promise<string[]> {
  // No statement timeout: an index on a large table can take hours.
  const session = { ...options.session, statement_timeout: "0", lock_timeout: String(LOCK_TIMEOUT_MS) };
  const settings = ormOptions({ ...options, session, poolSize: 2 });
  const migrations = { ...settings.migrations, ...(migrationsList && { migrationsList }) };
  const orm = await MikroORM.init({ ...settings, migrations });
  try {
    const pool: Pool = await orm.em.getConnection().getNativeClient();
    const connection = await pool.connect();
    try {
      await connection.query("set lock_timeout = 0");
      await acquireMigrationLock(connection);
      const applied = await applyPending(orm.migrator, onLockWait);
      await afterMigrate?.(createLockedConnection(connection, orm.em.fork()));
      return applied;
    } finally {
      // Destroying the connection releases the lock, also after a failed migration.
      connection.release(true);
    }
  } catch (error) {
    throw toStartupError(options.url, error);
  } finally {
    await orm.close(true);
  }
}

/**
 * Polls until the lock is free. A statement that waited for the lock would hold a snapshot, for which a
 * `create index concurrently` of the lock's holder would wait: a deadlock.
 */
async function acquireMigrationLock(client: PoolClient): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [
      MIGRATION_LOCK,
    ]);
    if (rows[0]?.locked) return;
    await pause(LOCK_POLL_INTERVAL_MS);
  }
}

async function applyPending(
  migrator: MikroORM["migrator"],
  onLockWait?: MigrationHooks["onLockWait"],
): Promise<string[]> {
  const pending = await migrator.getPending();
  // The usual case at a start; it saves a second check by `up`.
  if (pending.length === 0) return [];
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Applied migrations are recorded one by one, so a retry continues with the failed one.
      await migrator.up();
      return pending.map(({ name }) => name);
    } catch (error) {
      if (!isContentionError(error) || attempt === MAX_ATTEMPTS) throw error;
      if (attempt === 1)
        onLockWait?.("A migration waits for a table that is in use; it tries again every few seconds.");
      await pause(RETRY_DELAY_MS);
    }
  }
}

/** A failed transaction is not rolled back here, because the caller destroys the connection. */
function createLockedConnection(client: PoolClient, fork: EntityManager): LockedConnection {
  const em = bindEntityManager(fork, (statement) => client.query<object>(statement));
  const query = async <Row>(statement: Sql): Promise<Row[]> => {
    const { text, values } = statement.compile();
    return (await client.query<Row & object>(text, values)).rows;
  };
  const reader: Reader = { query, em: () => em };
  return {
    ...reader,
    async transaction(work) {
      await query(raw("begin"));
      const result = await work(reader);
      await em.flush();
      await query(raw("commit"));
      return result;
    },
  };
}

/** Converts errors that the operator can fix into StartupErrors, which name the server without its password. */
function toStartupError(url: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { host, pathname } = new URL(url);
  const startupError = (problem: string, hint: string): StartupError =>
    new StartupError(`PostgreSQL at ${host}${pathname} ${problem}: ${error.message}.`, hint, error);
  const settingHint = "Correct DATABASE_URL, or leave it empty for the embedded PostgreSQL.";
  if (isAuthError(error)) return startupError("refuses access", settingHint);
  if (isConnectionError(error)) return startupError("cannot be reached", settingHint);
  if (isContentionError(error))
    return startupError(
      "has a table that a migration must change and that stayed in use",
      "End the session that uses it (see pg_stat_activity) and start again. Applied migrations are kept.",
    );
  // The server is reachable but lacks a resource, such as disk space.
  return toUnavailable(error) ? startupError("cannot migrate", "Fix the cause and start again.") : error;
}
