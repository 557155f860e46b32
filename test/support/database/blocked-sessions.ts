/** Blocks calls with an open transaction, and waits until they are blocked. */
import { expect } from "vitest";
import type { Database, Queryable } from "../../../src/platform/postgres/database.ts";
import { sql, type Sql } from "../../../src/platform/postgres/sql.ts";
import { eventually } from "../eventually.ts";

export interface OpenTransaction {
  commit(): Promise<void>;
}

/** Runs `statements` in a transaction and keeps it open until `commit` is called. */
export async function openTransaction(database: Database, ...statements: Sql[]): Promise<OpenTransaction> {
  const { promise: statementsRan, resolve: run } = Promise.withResolvers<void>();
  const { promise: committed, resolve: end } = Promise.withResolvers<void>();
  const transaction = database.transaction(async (tx) => {
    for (const statement of statements) await tx.query(statement);
    run();
    await committed;
  });
  await Promise.race([statementsRan, transaction]);
  return {
    async commit() {
      end();
      await transaction;
    },
  };
}

/** Resolves when at least `count` sessions of this database wait for a lock: any lock, or one of the session with the pid `holder`. */
export function waitForBlockedSessions(database: Queryable, count: number, holder?: number): Promise<void> {
  const ofHolder = holder === undefined ? sql`true` : sql`${holder}::int = any(pg_blocking_pids(pid))`;
  const poll = async (): Promise<void> => {
    const [row] = await database.query<{ waiting: number }>(sql`
      select count(*)::int as waiting from pg_locks join pg_stat_activity using (pid)
      where not granted and datname = current_database() and ${ofHolder}`);
    expect(row?.waiting).toBeGreaterThanOrEqual(count);
  };
  return eventually(poll, { intervalMs: 10 });
}
