/** The traffic generator, in its own process: partners, console users and subscribers, at steady rates for a given time. */
import pg from "pg";
import type { BenchOrganization } from "../seed.ts";
import { createWorkload } from "../workload.ts";
import { openHttpClient } from "./http-client.ts";
import { createOperations, type Operation } from "./operations.ts";
import { startOpenLoop } from "./open-loop-rate.ts";
import { operationNames, OPERATIONS, SUBSCRIBERS, type OperationName } from "./plan.ts";
import { startSubscribers, type SubscriberCounts } from "./subscribers.ts";
import { createConsoleUsers } from "./console-users.ts";
import type { SoakUser } from "./dataset.ts";

export interface TrafficJob {
  /** The balancer's URL. */
  url: string;
  databaseUrl: string;
  organizations: readonly BenchOrganization[];
  users: readonly SoakUser[];
  seededAt: Date;
  /** Multiplies the rates of the plan. */
  load: number;
  warmUpMs: number;
  runMs: number;
}

/** The results of one operation. */
export interface OperationFigures {
  /** Latencies after the warm-up, by quarter of the run. */
  quartersMs: number[][];
  /** Successful httpClient of the whole run. */
  done: number;
  failed: number;
  skipped: number;
}

export interface TrafficResult {
  operationFigures: Record<OperationName, OperationFigures>;
  /** Changes confirmed with success, those of the warm-up included. */
  changes: number;
  /** The first failures, at most 20. */
  failures: string[];
  subscribers: SubscriberCounts;
}

export type TrafficMessage = { ready: true } | { result: TrafficResult };

const QUARTERS = 4;
const MAX_FAILURES = 20;

process.once("message", (job: TrafficJob) => void run(job));
process.once("disconnect", () => process.exit());

async function run(job: TrafficJob): Promise<void> {
  const { url, users, warmUpMs, runMs, load } = job;
  const organizations = [...job.organizations];
  const client = new pg.Client({ connectionString: job.databaseUrl });
  await client.connect();
  const workload = await createWorkload({ client, organizations, seededAt: job.seededAt });
  await client.end();
  await using httpClient = openHttpClient(url);
  const consoleUsers = createConsoleUsers(httpClient, users);
  const operations = createOperations({ client: httpClient, workload, organizations, consoleUsers });
  const recorder = createTrafficRecorder(performance.now() + warmUpMs, runMs);

  process.send?.({ ready: true } satisfies TrafficMessage);
  const paced = operationNames.map((name) => ({
    name,
    pace: startOpenLoop(OPERATIONS[name] * load, () => recorder.time(name, operations[name])),
  }));
  const subscribers = startSubscribers(Math.ceil(SUBSCRIBERS * load), url, organizations.slice(0, 40));
  await new Promise((resolve) => setTimeout(resolve, warmUpMs + runMs));
  await Promise.all(paced.map(({ pace }) => pace.stop()));
  await subscribers.stop();
  for (const { name, pace } of paced) recorder.result.operationFigures[name].skipped = pace.skipped;
  const result: TrafficResult = { ...recorder.result, subscribers: subscribers.counts };
  process.send?.({ result } satisfies TrafficMessage);
}

interface TrafficRecorder {
  result: Omit<TrafficResult, "subscribers">;
  /** Counts and measures one call. Never rejects. */
  time(name: OperationName, operation: Operation): Promise<void>;
}

const emptyFigures = (): OperationFigures => ({
  quartersMs: Array.from({ length: QUARTERS }, () => []),
  done: 0,
  failed: 0,
  skipped: 0,
});

function createTrafficRecorder(measureFromMs: number, runMs: number): TrafficRecorder {
  const operationFigures = Object.fromEntries(operationNames.map((name) => [name, emptyFigures()])) as Record<
    OperationName,
    OperationFigures
  >;
  const result: TrafficRecorder["result"] = { operationFigures, changes: 0, failures: [] };
  return {
    result,
    async time(name, operation) {
      const figures = operationFigures[name];
      const sentMs = performance.now();
      try {
        const changes = await operation();
        result.changes += changes;
        figures.done += 1;
      } catch (error) {
        figures.failed += 1;
        if (result.failures.length < MAX_FAILURES)
          result.failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
      const quarter = Math.floor(((sentMs - measureFromMs) / runMs) * QUARTERS);
      figures.quartersMs[quarter]?.push(performance.now() - sentMs);
    },
  };
}
