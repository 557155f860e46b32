/**
 * Simulates a server under load: an event loop that runs one task after another, and a database that runs a few tasks
 * concurrently. Time is simulated.
 */
import { createRandom } from "../../../bench/random.ts";
import { ConcurrencyLimit } from "../../../src/api/load-shedding/load-shedding.ts";

export interface RequestKind {
  name: string;
  /** Event-loop time: half before and half after the database query. */
  loopMs: number;
  /** Mean database time, exponentially distributed. */
  databaseMs: number;
  /** Fraction of all requests. */
  share: number;
}

export interface SimulatedLoad {
  seconds: number;
  perSecond: number;
  kinds: readonly RequestKind[];
  /** Additional requests that all arrive at the start. */
  burst?: number;
}

export interface SimulatedOutcome {
  kind: string;
  /** Arrival, since the start of the load. */
  atMs: number;
  durationMs: number;
  isAnswered: boolean;
}

interface SimulatedTask {
  remainingMs: number;
  done: (nowMs: number) => void;
}

const STEP_MS = 0.05;
const REJECTION_MS = 0.03;
const SUSTAINED = 10;
const BURST = 200;

export function createSimulatedServer({ databaseCores = 1 } = {}): {
  run(load: SimulatedLoad): SimulatedOutcome[];
} {
  const limit = new ConcurrencyLimit({ sustained: SUSTAINED, burst: BURST });
  const random = createRandom(7);
  const loop: SimulatedTask[] = [];
  const database: SimulatedTask[] = [];
  let nowMs = 0;

  const handleRequest = (
    kind: RequestKind,
    onResponse: (durationMs: number, isAnswered: boolean) => void,
  ): void => {
    const arrivedMs = nowMs;
    const admit = (startMs: number): void => {
      limit.endIfRecovered(startMs);
      if (limit.isBurstTooLong(startMs)) limit.onOverload(startMs);
      if (!limit.hasCapacity) {
        limit.onOverload(startMs);
        onResponse(startMs - arrivedMs, false);
        return;
      }
      limit.onStart(startMs);
      const respond = (endMs: number): void => {
        limit.onRelease();
        onResponse(endMs - arrivedMs, true);
      };
      const finish = (): void => void loop.push({ remainingMs: kind.loopMs / 2, done: respond });
      const query = (): void =>
        void database.push({ remainingMs: exponentialDelay(random, kind.databaseMs), done: finish });
      loop.push({ remainingMs: kind.loopMs / 2, done: query });
    };
    loop.push({ remainingMs: REJECTION_MS, done: admit });
  };

  return {
    run({ seconds, perSecond, kinds, burst = 0 }) {
      const outcomes: SimulatedOutcome[] = [];
      const startedMs = nowMs;
      const sendRequest = (): void => {
        const kind = pick(kinds, random());
        const atMs = nowMs - startedMs;
        handleRequest(kind, (durationMs, isAnswered) =>
          outcomes.push({ kind: kind.name, atMs, durationMs, isAnswered }),
        );
      };
      for (let count = 0; count < burst; count += 1) sendRequest();
      const probability = (perSecond * STEP_MS) / 1000;
      for (; nowMs - startedMs < seconds * 1000; nowMs += STEP_MS) {
        if (random() < probability) sendRequest();
        runStep(loop, 1, nowMs);
        runStep(database, databaseCores, nowMs);
      }
      return outcomes;
    },
  };
}

/** Runs the first `workers` tasks for one step. */
function runStep(tasks: SimulatedTask[], workers: number, nowMs: number): void {
  for (let worker = workers - 1; worker >= 0; worker -= 1) {
    for (let budgetMs = STEP_MS; budgetMs > 0;) {
      const task = tasks[worker];
      if (!task) break;
      const spentMs = Math.min(task.remainingMs, budgetMs);
      task.remainingMs -= spentMs;
      budgetMs -= spentMs;
      if (task.remainingMs > 0) break;
      tasks.splice(worker, 1);
      task.done(nowMs + STEP_MS - budgetMs);
    }
  }
}

function pick(kinds: readonly RequestKind[], position: number): RequestKind {
  let remaining = position;
  for (const kind of kinds) {
    remaining -= kind.share;
    if (remaining < 0) return kind;
  }
  return kinds[0] as RequestKind;
}

function exponentialDelay(random: () => number, meanMs: number): number {
  return -Math.log(1 - random()) * meanMs;
}
