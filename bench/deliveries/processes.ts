/** The servers and processes of the delivery benchmarks: MongoDB, Redis if installed, the engines and the receiver. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openEmbeddedMongo } from "../../src/dev/mongo/embedded-mongo.ts";
import type { BenchPostgres } from "../database.ts";
import { dataFolder, mongodSources, onProgress } from "../environment.ts";
import { processCpuUs } from "../process-usage.ts";
import { endProcess, nextMessage, startProcess, WAYMARK_NODE_FLAGS } from "../servers.ts";
import type { EngineCommand, EngineName } from "./protocol.ts";
import type { SinkCommand, SinkTotals } from "./sink.ts";

export interface DeliveryServers extends AsyncDisposable {
  /** Environment variables for the engines. */
  env: { MONGODB_URL: string; REDIS_SOCKET?: string };
  /** Returns the CPU microseconds since each server started. */
  cpu(): { postgresUs: number; mongoUs: number; redisUs: number };
}

export async function startDeliveryServers(postgres: BenchPostgres): Promise<DeliveryServers> {
  await using opened = new AsyncDisposableStack();
  const mongo = opened.use(openEmbeddedMongo({ dataDir: dataFolder, ...mongodSources, onProgress }));
  const mongoUrl = await mongo.url;
  const mongodPid = Number(await readFile(join(dataFolder, "mongo", "mongod.lock"), "utf8"));
  const redis = await startRedis();
  if (redis) opened.use(redis);
  else onProgress("Skipping BullMQ: it needs redis-server on the PATH");
  const resources = opened.move();
  return {
    env: { MONGODB_URL: mongoUrl, ...(redis && { REDIS_SOCKET: redis.socket }) },
    cpu: () => ({
      postgresUs: postgres.cpuUs(),
      mongoUs: processCpuUs(mongodPid),
      redisUs: redis ? processCpuUs(redis.pid) : 0,
    }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Returns null without redis-server. Configured as BullMQ's production guide says: the append-only file is synced every second. */
async function startRedis(): Promise<({ socket: string; pid: number } & AsyncDisposable) | null> {
  const dir = join(dataFolder, "redis");
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
    async [Symbol.asyncDispose]() {
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
  { env }: Pick<DeliveryServers, "env">,
): Promise<EngineProcess> {
  const child = startProcess(
    `${enginesOfPeers.has(name) ? "peers" : "deliveries"}/engine-${name}.ts`,
    { NODE_ENV: "production", DATABASE_URL: databaseUrl, ...env },
    name === "waymark" ? WAYMARK_NODE_FLAGS : [],
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
  const child = startProcess("deliveries/sink.ts");
  const { url } = await nextMessage<{ url: string }>(child, "sink");
  return {
    url,
    send: (command) => void child.send(command),
    received: () => nextMessage<SinkTotals>(child, "sink"),
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}
