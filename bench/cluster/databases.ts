/** The cluster's PostgreSQL and MongoDB: Waymark's embedded programs with the arguments of docker-compose.yml. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient, MongoServerError } from "mongodb";
import { openEmbeddedPostgres } from "../../src/dev/postgres/embedded-postgres.ts";
import { findFreePort, readLogTail, startProgram, type Program } from "./process.ts";

export interface ClusterDatabase extends AsyncDisposable {
  readonly url: string;
}

/** Starts a durable PostgreSQL on a free port, with its default of 100 connections. */
export async function startPostgres(folder: string): Promise<ClusterDatabase> {
  return await openEmbeddedPostgres({ dataDir: folder, exclusive: true });
}

interface MongoOptions {
  readonly folder: string;
  /** Path of the `mongod`. */
  readonly binary: string;
  /** The service's command in docker-compose.yml. */
  readonly command: readonly string[];
}

const DATABASE = "waymark";
const READY_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 50;
const NOT_YET_INITIALIZED = 94;
/** Listens on TCP only, with small caches. */
const SETTINGS = ["--nounixsocket", "--oplogSize=64", "--wiredTigerCacheSizeGB=0.25", "--quiet"];

/** Starts a replica set of one member. Its URL names the set, as for any replica set. */
export async function startMongo({ folder, binary, command }: MongoOptions): Promise<ClusterDatabase> {
  const port = await findFreePort();
  const dbpath = join(folder, "mongo");
  const logFile = join(folder, "mongo.log");
  await mkdir(dbpath, { mode: 0o700 });
  // It listens on 127.0.0.1 only, so it needs no key file and no password.
  const replaced = new Set(["--bind_ip_all", "--keyFile", ...SETTINGS.map(optionName)]);
  const given = command.slice(1).filter((argument) => !replaced.has(optionName(argument)));
  const args = [...given, `--dbpath=${dbpath}`, "--bind_ip=127.0.0.1", `--port=${port}`, ...SETTINGS];
  const program = await startProgram({ command: binary, args, env: {}, logFile });
  const replicaSet = /--replSet=(\S+)/.exec(given.join(" "))?.[1] ?? "";
  try {
    await waitUntilPrimary({ host: `127.0.0.1:${port}`, replicaSet, program, logFile });
  } catch (error) {
    program.signal("SIGKILL");
    throw error;
  }
  return {
    url: `mongodb://127.0.0.1:${port}/${DATABASE}?replicaSet=${replicaSet}`,
    async [Symbol.asyncDispose]() {
      program.signal("SIGTERM");
      await program.ended;
    },
  };
}

const optionName = (argument: string): string => argument.replace(/=.*/, "");

interface StartingMongo {
  readonly host: string;
  readonly replicaSet: string;
  readonly program: Program;
  readonly logFile: string;
}

/** Does what the health check of docker-compose.yml does: initiates the replica set once, and waits until it accepts writes. */
async function waitUntilPrimary({ host, replicaSet, program, logFile }: StartingMongo): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  const config = { _id: replicaSet, members: [{ _id: 0, host }] };
  for (;;) {
    if (program.hasEnded() || performance.now() > deadlineMs)
      throw new Error(`MongoDB did not start:\n${await readLogTail(logFile)}`);
    if (await acceptsWrites(host, config).catch(() => false)) return;
    await pause(POLL_INTERVAL_MS);
  }
}

async function acceptsWrites(host: string, config: object): Promise<boolean> {
  const url = `mongodb://${host}/admin?directConnection=true`;
  await using client = new MongoClient(url, { serverSelectionTimeoutMS: 500, maxPoolSize: 1 });
  const admin = client.db();
  await admin.command({ replSetGetStatus: 1 }).catch(async (error: unknown) => {
    const isNew = error instanceof MongoServerError && error.code === NOT_YET_INITIALIZED;
    if (isNew) await admin.command({ replSetInitiate: config });
  });
  return (await admin.command({ hello: 1 }))["isWritablePrimary"] === true;
}
