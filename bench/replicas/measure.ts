/** Sends the same requests alternately to a server with a replica and to one without. */
import { processTreeCpuUs } from "../process-usage.ts";
import type { LoadRequest } from "../load.ts";
import { measureRound, type Figures } from "../comparison.ts";
import type { BenchServer, LoadGenerator } from "../servers.ts";

export interface ReplicaBench {
  load: LoadGenerator;
  /** Sends updates during the measurement. */
  changes: LoadGenerator;
  rounds: number;
  withReplica: BenchServer;
  without: BenchServer;
  primaryPid: number | null;
  standbyPid: number;
}

export interface ReplicaFigures extends Figures {
  /** CPU microseconds of the standby per request. */
  standbyUs: number;
}

export interface ReplicaComparison {
  withReplica: ReplicaFigures;
  without: ReplicaFigures;
}

/** Share of list queries in percent, by the database that answered them and the reason. */
export interface ReplicaShare {
  /** Changes per second during the measurement. */
  changes: number;
  current: number;
  changed: number;
  other: number;
}

const CONNECTIONS = 16;
const WARM_UP_ROUNDS = 2;

export async function compareSides(
  bench: ReplicaBench,
  requests: () => LoadRequest[],
): Promise<ReplicaComparison> {
  const found = { withReplica: [] as ReplicaFigures[], without: [] as ReplicaFigures[] };
  for (let round = 0; round < WARM_UP_ROUNDS + bench.rounds; round += 1) {
    const sides = ["withReplica", "without"] as const;
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const figures = await measureSide(bench, bench[side], requests);
      if (round >= WARM_UP_ROUNDS) found[side].push(figures);
    }
  }
  return { withReplica: medians(found.withReplica), without: medians(found.without) };
}

async function measureSide(
  { load, primaryPid, standbyPid }: ReplicaBench,
  server: BenchServer,
  requests: () => LoadRequest[],
): Promise<ReplicaFigures> {
  const requested = requests();
  const before = processTreeCpuUs(standbyPid);
  const side = { server, requests: () => requested };
  const figures = await measureRound({ load, postmasterPid: primaryPid, rounds: 1 }, CONNECTIONS, side);
  return { ...figures, standbyUs: (processTreeCpuUs(standbyPid) - before) / requested.length };
}

function medians(rounds: readonly ReplicaFigures[]): ReplicaFigures {
  const names = Object.keys(rounds[0] ?? {}) as (keyof ReplicaFigures)[];
  const median = (name: keyof ReplicaFigures): number =>
    rounds.map((round) => round[name]).toSorted((a, b) => a - b)[Math.floor(rounds.length / 2)] as number;
  return Object.fromEntries(names.map((name) => [name, median(name)])) as unknown as ReplicaFigures;
}

interface ReplicaRequests {
  lists: () => LoadRequest[];
  updates: () => LoadRequest[];
}

/** Measures the shares while 0, 1 and 4 connections send updates as fast as they can. */
export async function measureSharesUnderChanges(
  bench: ReplicaBench,
  requested: ReplicaRequests,
): Promise<ReplicaShare[]> {
  const shares: ReplicaShare[] = [];
  for (const connections of [0, 1, 4]) shares.push(await measureShare(bench, requested, connections));
  return shares;
}

async function measureShare(
  { load, changes, withReplica: { url } }: ReplicaBench,
  { lists, updates }: ReplicaRequests,
  connections: number,
): Promise<ReplicaShare> {
  const before = await readAnswerCounts(url);
  let listing = true;
  const listed = load
    .run({ url, connections: CONNECTIONS, requests: lists() })
    .finally(() => (listing = false));
  let sentCount = 0;
  let tookMs = 0;
  while (connections > 0 && listing) {
    const { latenciesMs, wallMs } = await changes.run({
      url,
      connections,
      requests: updates().slice(0, 50 * connections),
    });
    sentCount += latenciesMs.length;
    tookMs += wallMs;
  }
  await listed;
  const after = await readAnswerCounts(url);
  const [current = 0, changed = 0, other = 0] = after.map((count, at) => count - (before[at] ?? 0));
  const percent = (count: number): number => (100 * count) / (current + changed + other);
  return {
    changes: tookMs === 0 ? 0 : (sentCount / tookMs) * 1_000,
    current: percent(current),
    changed: percent(changed),
    other: percent(other),
  };
}

async function readAnswerCounts(url: string): Promise<number[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const sum = (reason: string): number =>
    [...text.matchAll(new RegExp(`^waymark_read_queries_total\\{.*reason="${reason}"\\} (\\d+)`, "gm"))]
      .map(([, count]) => Number(count))
      .reduce((a, b) => a + b, 0);
  return [sum("current"), sum("changed"), sum("failed") + sum("no_replica")];
}
