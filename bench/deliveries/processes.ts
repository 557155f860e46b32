/** Starts the servers of the delivery benchmarks (PostgreSQL, MongoDB, Redis if installed) and the processes that use them. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openEmbeddedMongo } from "../../src/dev/mongo/embedded-mongo.ts";
import { openEmbeddedPostgres } from "../../src/dev/postgres/embedded-postgres.ts";
import { processCpuUs, processTreeCpuUs } from "../process-usage.ts";
import { readPostmasterPid, postgresFlags } from "../database.ts";
import { endProcess, WAYMARK_NODE_FLAGS, startProcess } from "../servers.ts";
import type { EngineCommand, EngineName } from "./protocol.ts";
import type { SinkTotals, SinkCommand } from "./sink.ts";

/** CPU microseconds since each server started. */
export interface ServerTimes {
  postgres: number;
  mongo: number;
  redis: number;
}

export interface DeliveryProcesses extends AsyncDisposable {
  postgresUrl: string;
  /** Environment variables for the engines. */
  env: Record<string, string>;
  hasRedis: boolean;
  cpu(): ServerTimes;
  onProgress(text: string): void;
}

export async function startDeliveryProcesses(
  folder: string,
  onProgress: (text: string) => void,
): Promise<DeliveryProcesses> {
  const opened = new AsyncDisposableStack();
  const dataDir = join(folder, "deliveries");
  await mkdir(dataDir, { recursive: true });
  const postgres = opened.use(
    await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags: [...postgresFlags], onProgress }),
  );
  const cacheDir = join(
    process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "", ".cache"),
    "waymark",
  );
  const mongo = opened.use(
    openEmbeddedMongo({ dataDir, cacheDir, binary: null, download: "any", onProgress }),
  );
  const mongoUrl = await mongo.url;
  const redis = await startRedis(dataDir);
  if (redis) opened.defer(() => redis.end());
  else onProgress("Skipping BullMQ: it needs redis-server on the PATH");

  const postmasterPid = await readPostmasterPid(dataDir);
  const mongodPid = Number(await readFile(join(dataDir, "mongo", "mongod.lock"), "utf8"));
  return {
    postgresUrl: postgres.url,
    env: { MONGODB_URL: mongoUrl, ...(redis && { REDIS_SOCKET: redis.socket }) },
    hasRedis: redis !== null,
    cpu: () => ({
      postgres: processTreeCpuUs(postmasterPid),
      mongo: processCpuUs(mongodPid),
      redis: redis ? processCpuUs(redis.pid) : 0,
    }),
    onProgress,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface Redis {
  socket: string;
  pid: number;
  end(): Promise<void>;
}

/** Returns null without redis-server. Configured as BullMQ's production guide says: the append-only file is synced every second. */
async function startRedis(dataDir: string): Promise<Redis | null> {
  const dir = join(dataDir, "redis");
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir);
  const socket = join(dir, "redis.sock");
  const args = ["--port", "0", "--unixsocket", socket, "--dir", dir, "--appendonly", "yes", "--save", ""];
  const child = spawn("redis-server", args, { stdio: ["ignore", "pipe", "ignore"] });
  const isReady = await Promise.race([
    once(child, "error").then(() => false),
    once(child, "exit").then(() => false),
    once(child.stdout, "data").then(() => true),
  ]);
  if (!isReady) return null;
  child.stdout.resume();
  // Redis prints that it is ready shortly before it listens.
  await pause(500);
  return {
    socket,
    pid: child.pid as number,
    async end() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Engines that need bench's own packages. */
const enginesOfPeers: ReadonlySet<EngineName> = new Set(["bullmq", "graphile-worker", "pg-boss"]);

export interface EngineProcess extends AsyncDisposable {
  name: EngineName;
  pid: number;
  send(command: EngineCommand): Promise<void>;
}

export async function startEngine(
  name: EngineName,
  databaseUrl: string,
  { env }: Pick<DeliveryProcesses, "env">,
): Promise<EngineProcess> {
  // The flags of `npm start`. BENCH_ENGINE_ARGV adds flags for Waymark's worker only, such as --cpu-prof.
  const execArgv = [...WAYMARK_NODE_FLAGS, ...(process.env["BENCH_ENGINE_ARGV"]?.split(" ") ?? [])];
  const folder = enginesOfPeers.has(name) ? "peers" : "deliveries";
  const child = startProcess(
    `${folder}/engine-${name}.ts`,
    { NODE_ENV: "production", DATABASE_URL: databaseUrl, ...env },
    name === "waymark" ? execArgv : [],
  );
  await nextMessage(child, name);
  return {
    name,
    pid: child.pid as number,
    async send(command) {
      child.send(command);
      await nextMessage(child, name);
    },
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

export interface Sink extends AsyncDisposable {
  url: string;
  send(command: SinkCommand): void;
  /** Resolves once the expected number of deliveries has arrived. */
  received(): Promise<SinkTotals>;
}

export async function startSink(): Promise<Sink> {
  const child = startProcess("deliveries/sink.ts", {}, []);
  const { url } = await nextMessage<{ url: string }>(child, "sink");
  return {
    url,
    send: (command) => void child.send(command),
    received: () => nextMessage<SinkTotals>(child, "sink"),
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

const TIMEOUT_MS = 180_000;

/** Rejects if the process ends, or sends no message within the timeout. */
export async function nextMessage<T>(child: ChildProcess, name: string, timeoutMs = TIMEOUT_MS): Promise<T> {
  const received = new AbortController();
  const signal = AbortSignal.any([received.signal, AbortSignal.timeout(timeoutMs)]);
  const ended = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`${name} ended early (${String(code)})`);
  });
  try {
    const [message] = (await Promise.race([once(child, "message", { signal }), ended])) as [T];
    return message;
  } finally {
    received.abort();
    ended.catch(() => undefined);
  }
}
