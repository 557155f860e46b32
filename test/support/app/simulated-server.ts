/**
 * A server as it is when much is asked of it, in simulated time: one loop that does one thing after the other, be it to refuse
 * or to answer, and a database behind it that does a few things at once.
 */
import { createRandom } from "../../../bench/random.ts";
import { ConcurrencyLimit } from "../../../src/http/load-shedding/concurrency-limit.ts";

export interface RequestKind {
  name: string;
  /** Of the loop's time, half before the database is asked and half after it. */
  loopMs: number;
  databaseMs: number;
  /** How many of all requests. */
  share: number;
}

export interface SimulatedLoad {
  seconds: number;
  perSecond: number;
  kinds: readonly RequestKind[];
  /** So many more at its beginning, all at once. */
  burst?: number;
}

export interface SimulatedOutcome {
  kind: string;
  /** Since the load began. */
  atMs: number;
  durationMs: number;
  isAnswered: boolean;
}

interface SimulatedTask {
  leftMs: number;
  done: (nowMs: number) => void;
}

const STEP_MS = 0.05;
const REJECTION_MS = 0.03;
const MAX_CONCURRENCY = 200;

export function createSimulatedServer({ databaseCores = 1 } = {}): {
  run(load: SimulatedLoad): SimulatedOutcome[];
} {
  const limit = new ConcurrencyLimit({ max: MAX_CONCURRENCY });
  const random = createRandom(7);
  const loop: SimulatedTask[] = [];
  const database: SimulatedTask[] = [];
  let nowMs = 0;

  const arrive = (kind: RequestKind, tell: (tookMs: number, isAnswered: boolean) => void): void => {
    const cameMs = nowMs;
    const decide = (atMs: number): void => {
      if (limit.isAdjustmentDue(atMs)) limit.adjust(atMs);
      if (!limit.hasCapacity) {
        limit.onReject();
        tell(atMs - cameMs, false);
        return;
      }
      limit.onStart(atMs);
      const answer = (endMs: number): void => {
        limit.onSuccess(kind.name, atMs, endMs);
        tell(endMs - cameMs, true);
      };
      const finish = (): void => void loop.push({ leftMs: kind.loopMs / 2, done: answer });
      const ask = (): void =>
        void database.push({ leftMs: exponentialDelay(random, kind.databaseMs), done: finish });
      loop.push({ leftMs: kind.loopMs / 2, done: ask });
    };
    loop.push({ leftMs: REJECTION_MS, done: decide });
  };

  return {
    run({ seconds, perSecond, kinds, burst = 0 }) {
      const outcomes: SimulatedOutcome[] = [];
      const beganMs = nowMs;
      const come = (): void => {
        const kind = pick(kinds, random());
        const atMs = nowMs - beganMs;
        arrive(kind, (durationMs, isAnswered) =>
          outcomes.push({ kind: kind.name, atMs, durationMs, isAnswered }),
        );
      };
      for (let count = 0; count < burst; count += 1) come();
      const chance = (perSecond * STEP_MS) / 1000;
      for (; nowMs - beganMs < seconds * 1000; nowMs += STEP_MS) {
        if (random() < chance) come();
        runStep(loop, 1, nowMs);
        runStep(database, databaseCores, nowMs);
      }
      return outcomes;
    },
  };
}

/** The first `workers` of `tasks` go on for a step. */
function runStep(tasks: SimulatedTask[], workers: number, nowMs: number): void {
  for (let worker = workers - 1; worker >= 0; worker -= 1) {
    for (let budgetMs = STEP_MS; budgetMs > 0;) {
      const task = tasks[worker];
      if (!task) break;
      const spentMs = Math.min(task.leftMs, budgetMs);
      task.leftMs -= spentMs;
      budgetMs -= spentMs;
      if (task.leftMs > 0) break;
      tasks.splice(worker, 1);
      task.done(nowMs + STEP_MS - budgetMs);
    }
  }
}

function pick(kinds: readonly RequestKind[], position: number): RequestKind {
  let rest = position;
  for (const kind of kinds) {
    rest -= kind.share;
    if (rest < 0) return kind;
  }
  return kinds[0] as RequestKind;
}

function exponentialDelay(random: () => number, meanMs: number): number {
  return -Math.log(1 - random()) * meanMs;
}
