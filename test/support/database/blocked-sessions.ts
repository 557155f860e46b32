/** Blocks calls with an open transaction, and waits until they are blocked. */
import { inspect } from "node:util";
import type { Database, Queryable } from "../../../src/core/postgres/database.ts";
import { sql, type Sql } from "../../../src/core/postgres/sql.ts";
import { eventually } from "../eventually.ts";

export type OpenTransaction = Awaited<ReturnType<typeof openTransaction>>;

/** Runs `statements` in a transaction and keeps it open until `commit` is called. */
export async function openTransaction(database: Database, ...statements: Sql[]) {
  const { promise: statementsRan, resolve: run } = Promise.withResolvers<void>();
  const { promise: committed, resolve: end } = Promise.withResolvers<void>();
  const transaction = database.transaction(async (tx) => {
    for (const statement of statements) await tx.query(statement);
    run();
    await committed;
  });
  await Promise.race([statementsRan, transaction]);
  return {
    async commit(): Promise<void> {
      end();
      await transaction;
    },
  };
}

/** Locks a job's row, so that requests for the job stay in flight. */
export async function lockJobRow(database: Database, markingNumber: string) {
  const lock = sql`select from job where marking_number = ${markingNumber} for update`;
  const transaction = await openTransaction(database, lock);
  return {
    release: () => transaction.commit(),
    waitForBlockedSessions: (count = 1) => waitForBlockedSessions(database, count),
  };
}

interface Session {
  pid: number;
  blocked_by: number[];
  query: string;
}

/** Resolves when at least `count` sessions of this database wait for a lock: any lock, or one of the session with the pid `holder`. */
export function waitForBlockedSessions(database: Queryable, count: number, holder?: number): Promise<void> {
  const poll = async (): Promise<void> => {
    const sessions = await database.query<Session>(sql`
      select pid, pg_blocking_pids(pid) as blocked_by, left(query, 80) as query from pg_stat_activity
      where datname = current_database() and state <> 'idle'`);
    const blocked = sessions.filter(({ blocked_by: by }) =>
      holder === undefined ? by.length > 0 : by.includes(holder),
    );
    if (blocked.length < count)
      throw new Error(`${blocked.length} of ${count} sessions wait for a lock: ${inspect(sessions)}`);
  };
  return eventually(poll, { intervalMs: 10 });
}
