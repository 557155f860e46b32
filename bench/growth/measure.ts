/** The cost of each operation at one size. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openEmbeddedMongo } from "../../src/embedded/mongo.ts";
import { cpuOfProcess, cpuOfTree } from "../cpu.ts";
import { drain, type Drain } from "../deliveries/backlog.ts";
import { median } from "../deliveries/protocol.ts";
import { startEngine, startSink } from "../deliveries/stage.ts";
import { worldOn } from "../deliveries/world.ts";
import { measure, medians } from "../rounds.ts";
import { STARTED_WITH, startLoad, startServer } from "../servers.ts";
import { growthRows, type GrowthRow } from "./rows.ts";
import { MESSAGES } from "./seed.ts";
import type { GrowthWorld } from "./world.ts";

/** Of one operation; microseconds, pages and bytes. */
export interface Cost {
  id: string;
  name: string;
  isBounded: boolean;
  /** Null: there is no such thing at this size. */
  figures: CostFigures | null;
}

export interface CostFigures {
  nodeUs: number;
  postgresUs: number;
  p50Ms: number;
  hit: number;
  read: number;
  walBytes: number;
}

export interface MeasureOptions {
  folder: string;
  postmasterPid: number;
  rounds: number;
  onProgress: (text: string) => void;
}

export async function measureSize(world: GrowthWorld, options: MeasureOptions): Promise<Cost[]> {
  const { onProgress } = options;
  const costs: Cost[] = [];
  const rows = await growthRows(world);
  // What reads comes first: changes leave dead rows behind them.
  const changes = new Set(["update", "batch"]);
  const inOrder = [...rows.filter(({ id }) => !changes.has(id)), ...rows.filter(({ id }) => changes.has(id))];
  await using server = await startServer("waymark", world.url, STARTED_WITH);
  await using load = startLoad();
  for (const row of inOrder) {
    onProgress(row.name);
    costs.push(await costOf(row, { world, options, server, load }));
  }
  onProgress("deliveries");
  costs.push(await costOfDelivery(world, options));
  const place = new Map([...rows.map(({ id }) => id), "delivery"].map((id, at) => [id, at]));
  return costs.toSorted((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
}

interface Measured {
  world: GrowthWorld;
  options: MeasureOptions;
  server: Awaited<ReturnType<typeof startServer>>;
  load: ReturnType<typeof startLoad>;
}

async function costOf(row: GrowthRow, { world, options, server, load }: Measured): Promise<Cost> {
  const { id, name, isBounded, requests, connections } = row;
  if (!requests) return { id, name, isBounded, figures: null };
  const bench = { load, postmasterPid: options.postmasterPid, rounds: options.rounds };
  const side = { server, requests };
  await measure(bench, connections, side);
  await world.counted();
  const rounds = [];
  for (let round = 0; round < options.rounds; round += 1)
    rounds.push(await measure(bench, connections, side));
  const counted = await world.counted();
  const all = requests().length * options.rounds;
  const { nodeUs, postgresUs, p50Ms } = medians(rounds);
  const figures = {
    nodeUs,
    postgresUs,
    p50Ms,
    hit: counted.hit / all,
    read: counted.read / all,
    walBytes: counted.walBytes / all,
  };
  return { id, name, isBounded, figures };
}

/** A backlog drained by a worker, of events that lie anywhere. */
async function costOfDelivery(world: GrowthWorld, options: MeasureOptions): Promise<Cost> {
  const { folder, postmasterPid, rounds, onProgress } = options;
  const cacheHome = process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "", ".cache");
  const sources = { cacheDir: join(cacheHome, "waymark"), binary: null, download: true };
  await using mongo = openEmbeddedMongo({ dataDir: folder, ...sources, onProgress });
  const env = { MONGODB_URL: await mongo.url };
  const mongodPid = Number(await readFile(join(folder, "mongo", "mongod.lock"), "utf8"));
  const stage = {
    cpu: () => ({ postgres: cpuOfTree(postmasterPid), mongo: cpuOfProcess(mongodPid), redis: 0 }),
  };
  await using sink = await startSink();
  const bench = { stage, world: worldOn(world.url, world.client, await pointAt(world, sink.url)), sink };
  await using engine = await startEngine("waymark", world.url, { env });
  const clear = async (): Promise<void> =>
    void (await world.client.query("truncate webhook_delivery_pending"));
  const drains: Drain[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const drained = await drain(bench, engine, { deliveries: MESSAGES, isHanging: false }, clear);
    if (round >= 0) drains.push(drained);
  }
  const of = (pick: (drained: Drain) => number): number => median(drains.map(pick));
  return {
    id: "delivery",
    name: "delivery, of a backlog of 10,000",
    isBounded: true,
    figures: {
      nodeUs: of(({ nodeUs }) => nodeUs),
      postgresUs: of(({ postgresUs }) => postgresUs),
      p50Ms: Number.NaN,
      hit: Number.NaN,
      read: Number.NaN,
      walBytes: Number.NaN,
    },
  };
}

/** Sends every endpoint's deliveries to the sink, and answers with their secrets. */
async function pointAt({ client }: GrowthWorld, sinkUrl: string): Promise<string[]> {
  await client.query(
    `update webhook_endpoint set url = $1 || '/hook/' || n, version = version + 1, circuit_step = null, blocked_until = null
     from bench_endpoint where bench_endpoint.id = webhook_endpoint.id`,
    [sinkUrl],
  );
  const { rows } = await client.query<{ secret: string }>("select secret from bench_endpoint order by n");
  return rows.map(({ secret }) => secret);
}
