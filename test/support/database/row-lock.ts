/** Locks a job's row from a second client, so that requests for the job stay in flight. */
import pg from "pg";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";

export interface JobRowLock {
  /** Resolves when at least `count` sessions of this database wait for a lock. */
  waitForBlockedSessions(count?: number): Promise<void>;
  /** Can be called repeatedly. */
  release(): Promise<void>;
}

export async function lockJobRow(databaseUrl: string, markingNumber: string): Promise<JobRowLock> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query("begin");
  await client.query("select 1 from job where marking_number = $1 for update", [markingNumber]);
  let released: Promise<void> | undefined;
  const rollback = async (): Promise<void> => {
    await client.query("rollback");
    await client.end();
  };
  return {
    waitForBlockedSessions: (count = 1) =>
      eventually(
        async () => {
          // Within a transaction, PostgreSQL otherwise returns the activity snapshot of the first query.
          await client.query("select pg_stat_clear_snapshot()");
          const { rows } = await client.query<{ waiting: number }>(
            "select count(*)::int as waiting from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()",
          );
          expect(rows[0]?.waiting).toBeGreaterThanOrEqual(count);
        },
        { intervalMs: 10 },
      ),
    release: () => (released ??= rollback()),
  };
}
