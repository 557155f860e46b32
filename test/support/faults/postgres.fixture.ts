/** A PostgreSQL of a test file's own, to be killed, suspended and filled up: the one of the test run belongs to all. */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { openEmbeddedPostgres } from "../../../src/embedded/postgres/embedded-postgres.ts";
import { entities } from "../../../src/app/entities.ts";
import { migrateDatabase } from "../../../src/platform/postgres/migrate.ts";
import { startFaultTraffic } from "./traffic.ts";
import { eventually } from "./change-load.ts";
import { openFaultFixture } from "./webhook.fixture.ts";
import { stopAndRemoveAll, makeFolder, postmasterPid, query } from "../processes/embedded-processes.ts";

export interface DedicatedPostgres extends AsyncDisposable {
  /** Of its maintenance database. */
  readonly url: string;
  readonly dataDir: string;
  /** A database of the service, with nothing in it. */
  newDatabase(): Promise<string>;
  /** Kills all of it at once, as a power cut would, and resolves once whoever holds the data folder has started another. */
  kill(): Promise<void>;
  /** Suspends all of it: connections stand, and nothing answers. The function that is answered wakes it up. */
  suspend(): Promise<() => void>;
}

const TEMPLATE = "migrated";

/** `given`: a data folder that stays; else one is made, and removed. */
export async function openDedicatedPostgres(
  postgresFlags: readonly string[] = [],
  existingDataDir?: string,
): Promise<DedicatedPostgres> {
  const dataDir = existingDataDir ?? (await makeFolder());
  const postgres = await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags });
  const { url } = postgres;
  let template: Promise<void> | undefined;
  /** The postmaster comes last. It is to be met first: else it starts anew what is gone. */
  const processes = async (): Promise<number[]> => {
    const sessions = await query(url, "select pid from pg_stat_activity where pid <> pg_backend_pid()");
    return [...sessions.map(({ pid }) => Number(pid)), await postmasterPid(dataDir)];
  };
  return {
    url,
    dataDir,
    async newDatabase() {
      await (template ??= makeTemplate(url));
      const name = `fault_${randomBytes(6).toString("hex")}`;
      await query(url, `create database ${name} template ${TEMPLATE}`);
      return inDatabase(url, name);
    },
    async kill() {
      const pids = await processes();
      const postmaster = pids.at(-1);
      sendSignal(pids.toReversed(), "SIGKILL");
      await eventually(async () => {
        if ((await postmasterPid(dataDir)) === postmaster) throw new Error("It was not started again");
        await query(url, "select 1");
      });
    },
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
      // A session may have ended meanwhile.
    }
  }
}

export interface ConnectionHog extends AsyncDisposable {
  /** Resolves once there is no connection left. */
  readonly full: Promise<void>;
}

/**
 * Others, who use the same PostgreSQL: until it is disposed, they take every connection that is free. The service keeps
 * those that it has, unless they end its sessions.
 */
export function exhaustConnections(url: string, mode?: "ends sessions"): ConnectionHog {
  const full = Promise.withResolvers<void>();
  const clients: pg.Client[] = [];
  const leaving = new AbortController();
  const takeConnection = async (): Promise<boolean> => {
    const member = new pg.Client({ connectionString: url, application_name: "others" });
    member.on("error", () => undefined);
    try {
      await member.connect();
      clients.push(member);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === "53300") return false;
      throw error;
    }
  };
  const crowding = (async () => {
    while (!leaving.signal.aborted) {
      while (await takeConnection());
      full.resolve();
      if (mode === "ends sessions")
        await clients[0]?.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like 'waymark%' and datname like 'fault%'`);
      await pause(10, undefined, { signal: leaving.signal }).catch(() => undefined);
    }
  })();
  return {
    full: full.promise,
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await crowding;
      await Promise.all(clients.map((member) => member.end().catch(() => undefined)));
    },
  };
}

/** One process that does everything, with callers, a subscriber and receivers. `url`: where it finds its database. */
export async function openTrafficFixture(databaseUrl: string, url = databaseUrl) {
  const fixture = await openFaultFixture({ databaseUrl });
  await fixture.addEndpoint();
  await fixture.addEndpoint({ owner: fixture.contractor, maxInFlight: 1 });
  const numbers = await fixture.addJobs(5, "assigned");
  const server = await fixture.startServer("all", { DATABASE_URL: url });
  const traffic = await startFaultTraffic(fixture, server, numbers);
  await traffic.waitForSuccesses();
  return { world: fixture, server, traffic };
}
