/** Builds the console, the guide and the clients once for all test files. */
import pg from "pg";
import { inject } from "vitest";
import { buildIfStale } from "../../src/build.ts";

/** For a hook that may have to build, or to wait for the file that builds: a minute and a half on a busy machine. */
export const BUILD_TIMEOUT_MS = 300_000;
/** The PostgreSQL advisory lock shared by all test files. */
const LOCK_ID = 4_190;

/** Builds the site if its sources have changed. Test files that run at the same time wait for one build. */
export async function buildSite(): Promise<void> {
  await withAdvisoryLock(buildIfStale);
}

/** Runs `work` in one test file at a time. */
export async function withAdvisoryLock<T>(work: () => Promise<T>): Promise<T> {
  const client = new pg.Client(inject("serverUrl"));
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [LOCK_ID]);
    return await work();
  } finally {
    await client.end();
  }
}
