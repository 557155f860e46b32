/** A separate PostgreSQL server that a test file can kill, suspend and fill up. */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { openEmbeddedPostgres } from "../../../src/dev/postgres/embedded-postgres.ts";
import { entities } from "../../../src/app/entities.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { startFaultTraffic } from "./traffic.ts";
import { sumMetric, startChangeLoad } from "./change-load.ts";
import { eventually } from "../eventually.ts";
import { openFaultFixture, patchWeight, type FaultFixture } from "./webhook.fixture.ts";
import { stopAndRemoveAll, makeFolder, postmasterPid, query } from "../processes/embedded-processes.ts";
import { expect } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { expireLeases } from "./delivery-checks.ts";

export type DedicatedPostgres = Awaited<ReturnType<typeof openDedicatedPostgres>>;

const TEMPLATE = "migrated";

/** Without `existingDataDir`, a data folder is created, and removed on disposal. */
export async function openDedicatedPostgres(postgresFlags: readonly string[] = [], existingDataDir?: string) {
  const dataDir = existingDataDir ?? (await makeFolder());
  const postgres = await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags });
  const { url } = postgres;
  let template: Promise<void> | undefined;
  /** Returns the postmaster's PID last. Signal it first: otherwise it restarts the processes that died. */
  const processes = async (): Promise<number[]> => {
    const sessions = await query(url, "select pid from pg_stat_activity where pid <> pg_backend_pid()");
    return [...sessions.map(({ pid }) => Number(pid)), await postmasterPid(dataDir)];
  };
  return {
    /** URL of the maintenance database. */
    url,
    dataDir,
    /** Creates an empty, migrated database and returns its URL. */
    async newDatabase() {
      await (template ??= makeTemplate(url));
      const name = `fault_${randomBytes(6).toString("hex")}`;
      await query(url, `create database ${name} template ${TEMPLATE}`);
      return inDatabase(url, name);
    },
    /** Kills all PostgreSQL processes, like a power cut, and resolves when the server has been restarted. */
    async kill() {
      const pids = await processes();
      const postmaster = pids.at(-1);
      sendSignal(pids.toReversed(), "SIGKILL");
      await eventually(async () => {
        if ((await postmasterPid(dataDir)) === postmaster)
          throw new Error("PostgreSQL has not been restarted");
        await query(url, "select 1");
      });
    },
    /** Suspends all PostgreSQL processes: connections stay open and get no response. Returns a function that resumes them. */
    async suspend() {
      const pids = await processes();
      sendSignal(pids.toReversed(), "SIGSTOP");
      return () => sendSignal(pids, "SIGCONT");
    },
    async [Symbol.asyncDispose]() {
      await postgres[Symbol.asyncDispose]();
      if (existingDataDir === undefined) await stopAndRemoveAll();
    },
  };
}

async function makeTemplate(url: string): Promise<void> {
  await query(url, `create database ${TEMPLATE}`);
  await migrateDatabase({ url: inDatabase(url, TEMPLATE), poolSize: 2, entities });
}

function inDatabase(url: string, name: string): string {
  return Object.assign(new URL(url), { pathname: `/${name}` }).href;
}

function sendSignal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // The session has ended meanwhile.
    }
  }
}

/**
 * Takes every free connection until disposed. The service keeps its connections, unless the mode "terminate sessions" ends
 * them.
 */
export function exhaustConnections(url: string, mode?: "terminate sessions") {
  const full = Promise.withResolvers<void>();
  const clients: pg.Client[] = [];
  const stopping = new AbortController();
  const takeConnection = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: url, application_name: "others" });
    client.on("error", () => undefined);
    try {
      await client.connect();
      clients.push(client);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === "53300") return false;
      throw error;
    }
  };
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      while (await takeConnection());
      full.resolve();
      if (mode === "terminate sessions")
        await clients[0]?.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like 'waymark%' and datname like 'fault%'`);
      await pause(10, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    /** Resolves when no connection is free. */
    full: full.promise,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await loop;
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    },
  };
}

/** Starts one server with all roles, API traffic, a subscriber and webhook receivers. The server uses the database at `url`. */
export async function openTrafficFixture(databaseUrl: string, url = databaseUrl) {
  const fixture = await openFaultFixture({ databaseUrl });
  await fixture.addEndpoint();
  await fixture.addEndpoint({ owner: fixture.contractor, maxInFlight: 1 });
  const numbers = await fixture.addJobs(5, "assigned");
  const server = await fixture.startServer("all", { DATABASE_URL: url });
  const traffic = await startFaultTraffic(fixture, server, numbers);
  await traffic.waitForSuccesses();
  return { fixture, server, traffic };
}

/** Starts an API and a worker that use the database at `url`, with three endpoints and a load of changes. */
export async function startApiAndWorker(fixture: FaultFixture, url: string) {
  await fixture.addEndpoint();
  await fixture.addEndpoint({ maxInFlight: 1 });
  await fixture.addEndpoint({ owner: fixture.contractor });
  const numbers = await fixture.addJobs(6, "assigned");
  const [api, worker] = await Promise.all([
    fixture.startServer("api", { DATABASE_URL: url }),
    fixture.startServer("worker", { DATABASE_URL: url }),
  ]);
  const load = startChangeLoad(numbers, (number, weight) => patchWeight(api, fixture.agent, number, weight));
  return { api, worker, load };
}

/** Returns the maximum number of webhook requests in flight, over all endpoints. */
export function totalMaxInFlight({ endpoints }: Pick<FaultFixture, "endpoints">): number {
  return endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
}

/**
 * Returns the maximum number of duplicate requests if PostgreSQL crashed between these times. Workers commit asynchronously,
 * so a crash can lose the records of requests sent since the last job change, whose synchronous commit also made all earlier
 * records durable. Requests in flight at either end count too.
 */
export async function countPossibleDuplicates(
  fixture: FaultFixture,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Promise<number> {
  const [row] = await fixture.database.query<{ at_ms: number }>(sql`
    select floor(extract(epoch from max(occurred_at)) * 1000)::float8 as at_ms from job_event
    where occurred_at < to_timestamp(${fromMs / 1000})`);
  const durableUntilMs = row?.at_ms ?? 0;
  const sent = fixture.receiver.received.filter(({ atMs }) => atMs >= durableUntilMs && atMs <= untilMs);
  return sent.length + 2 * totalMaxInFlight(fixture);
}

/**
 * If the response to a claim is lost, its deliveries stay leased until the lease expires. Waits until the worker has no
 * requests in flight, then expires these leases and returns their number.
 */
export async function expireLostLeases(fixture: FaultFixture, worker: ServerProcess): Promise<number> {
  const inFlight = (): Promise<number> => sumMetric(worker, "waymark_webhook_deliveries_in_flight");
  await eventually(async () => expect(await inFlight()).toBe(0));
  return expireLeases(fixture);
}
