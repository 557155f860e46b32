/**
 * A server as it is when much is asked of it, in simulated time: one loop that does one thing after the other, be it to refuse
 * or to answer, and a database behind it that does a few things at once.
 */
import { randomFrom } from "../../bench/random.ts";
import { ConcurrencyLimit } from "../../src/http/overload/concurrency-limit.ts";

export interface RequestKind {
  name: string;
  /** Of the loop's time, half before the database is asked and half after it. */
  loopMs: number;
  databaseMs: number;
  /** How many of all requests. */
  part: number;
}

export interface Load {
  seconds: number;
  perSecond: number;
  kinds: readonly RequestKind[];
  /** So many more at its beginning, all at once. */
  burst?: number;
}

export interface Outcome {
  kind: string;
  /** Since the load began. */
  atMs: number;
  tookMs: number;
  isAnswered: boolean;
}

interface Task {
  leftMs: number;
  done: (nowMs: number) => void;
}

const STEP_MS = 0.05;
const REFUSAL_MS = 0.03;
const MOST = 200;

export function simulateServer({ databaseCores = 1 } = {}): { run(load: Load): Outcome[] } {
  const limit = new ConcurrencyLimit({ most: MOST });
  const random = randomFrom(7);
  const loop: Task[] = [];
  const database: Task[] = [];
  let nowMs = 0;

  const arrive = (kind: RequestKind, tell: (tookMs: number, isAnswered: boolean) => void): void => {
    const cameMs = nowMs;
    const decide = (atMs: number): void => {
      if (limit.isTimeToLook(atMs)) limit.look(atMs);
      if (!limit.hasRoom) {
        limit.refused();
        tell(atMs - cameMs, false);
        return;
      }
      limit.began(atMs);
      const answer = (endMs: number): void => {
        limit.answered(kind.name, atMs, endMs);
        tell(endMs - cameMs, true);
      };
      const finish = (): void => void loop.push({ leftMs: kind.loopMs / 2, done: answer });
      const ask = (): void => void database.push({ leftMs: drawn(random, kind.databaseMs), done: finish });
      loop.push({ leftMs: kind.loopMs / 2, done: ask });
    };
    loop.push({ leftMs: REFUSAL_MS, done: decide });
  };

  return {
    run({ seconds, perSecond, kinds, burst = 0 }) {
      const outcomes: Outcome[] = [];
      const beganMs = nowMs;
      const come = (): void => {
        const kind = pick(kinds, random());
        const atMs = nowMs - beganMs;
        arrive(kind, (tookMs, isAnswered) => outcomes.push({ kind: kind.name, atMs, tookMs, isAnswered }));
      };
      for (let count = 0; count < burst; count += 1) come();
      const chance = (perSecond * STEP_MS) / 1000;
      for (; nowMs - beganMs < seconds * 1000; nowMs += STEP_MS) {
        if (random() < chance) come();
        work(loop, 1, nowMs);
        work(database, databaseCores, nowMs);
      }
      return outcomes;
    },
  };
}

/** The first `workers` of `tasks` go on for a step. */
function work(tasks: Task[], workers: number, nowMs: number): void {
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

function pick(kinds: readonly RequestKind[], at: number): RequestKind {
  let rest = at;
  for (const kind of kinds) {
    rest -= kind.part;
    if (rest < 0) return kind;
  }
  return kinds[0] as RequestKind;
}

function drawn(random: () => number, meanMs: number): number {
  return -Math.log(1 - random()) * meanMs;
}
