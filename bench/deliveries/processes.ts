/** The servers and processes of the delivery benchmarks: MongoDB, the engines and the receiver. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openEmbeddedMongo } from "../../src/dev/mongo/embedded-mongo.ts";
import type { BenchPostgres } from "../database.ts";
import { dataFolder, mongodSources, onProgress } from "../environment.ts";
import { processCpuUs } from "../process-usage.ts";
import { endProcess, nextMessage, startProcess, WAYMARK_NODE_FLAGS } from "../servers.ts";
import type { EngineCommand, EngineName } from "./protocol.ts";
import type { SinkCommand, SinkTotals } from "./sink.ts";

export interface DeliveryServers extends AsyncDisposable {
  /** Environment variables for the engines. */
  env: { MONGODB_URL: string };
  /** Returns the CPU microseconds since each server started. */
  cpu(): { postgresUs: number; mongoUs: number };
}

export async function startDeliveryServers(postgres: BenchPostgres): Promise<DeliveryServers> {
  await using opened = new AsyncDisposableStack();
  const mongo = opened.use(openEmbeddedMongo({ dataDir: dataFolder, ...mongodSources, onProgress }));
  const mongoUrl = await mongo.url;
  const mongodPid = Number(await readFile(join(dataFolder, "mongo", "mongod.lock"), "utf8"));
  const resources = opened.move();
  return {
    env: { MONGODB_URL: mongoUrl },
    cpu: () => ({
      postgresUs: postgres.cpuUs(),
      mongoUs: processCpuUs(mongodPid),
    }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

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
    `${name === "graphile-worker" ? "peers" : "deliveries"}/engine-${name}.ts`,
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
