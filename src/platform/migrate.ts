/** Migrations, one process at a time. */
import { MikroORM } from "@mikro-orm/postgresql";
import type { Pool, PoolClient } from "pg";
import { ormOptions, type DatabaseOptions, type Queryable } from "./database.ts";
import { asUnavailable, isOutOfReach, isRefusedLogin } from "./database-errors.ts";
import { StartupError } from "./errors.ts";
import { raw, type Sql } from "./sql.ts";

/** The advisory lock that processes take in turn ("wamk"). */
const MIGRATION_LOCK = 0x77616d6b;
/** No limit: an index on a large table takes what it takes. */
const NO_TIMEOUT = 0;

/** Under the lock: each statement by itself, or several in one transaction. */
export interface LockHolder extends Queryable {
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
}

/**
 * Brings the schema up to date and answers with the names of the migrations that it applied. A process that starts
 * meanwhile waits for the lock and then finds nothing to do. `afterwards` is what else nobody may begin without, under the
 * same lock. Throws a StartupError where the database cannot be used.
 */
export async function migrateDatabase(
  options: DatabaseOptions,
  afterwards?: (database: LockHolder) => Promise<void>,
): Promise<string[]> {
  const orm = await MikroORM.init(ormOptions({ ...options, poolSize: 2 }, NO_TIMEOUT));
  try {
    const pool: Pool = await orm.em.getConnection().getNativeClient();
    const holder = await pool.connect();
    try {
      await holder.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
      const applied = await orm.migrator.up();
      await afterwards?.(lockHolder(holder));
      return applied.map((migration) => migration.name);
    } finally {
      // The lock goes with its connection, also when a migration failed halfway.
      holder.release(true);
    }
  } catch (error) {
    throw startupError(options.url, error);
  } finally {
    await orm.close(true);
  }
}

/** A failure needs no rollback: the connection goes with it. */
function lockHolder(client: PoolClient): LockHolder {
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
function startupError(url: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { host, pathname } = new URL(url);
  const place = `PostgreSQL at ${host}${pathname}`;
  const hint = "Correct DATABASE_URL, or leave it empty for the embedded PostgreSQL.";
  if (isRefusedLogin(error)) return new StartupError(`${place} refuses: ${error.message}.`, hint, error);
  if (isOutOfReach(error))
    return new StartupError(`${place} cannot be reached: ${error.message}.`, hint, error);
  // It is there, and says what it has not got: the disk is full, for example.
  const isShort = asUnavailable(error) !== null;
  return isShort
    ? new StartupError(`${place} cannot: ${error.message}.`, "Mend what it names, and start again.", error)
    : error;
}
