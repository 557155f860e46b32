/** Applies the steps of runs that are due. Any process can call it; each step is applied by one of them. */
import { LockMode } from "@mikro-orm/postgresql";
import type { JobService } from "../jobs/api.ts";
import { Organization } from "../organizations/api.ts";
import type { Clock } from "../core/clock.ts";
import type { Database } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { type OrganizationPrincipal, systemActor } from "../core/principal.ts";
import { SECOND_MS } from "../core/time.ts";
import { changeTo } from "./paths.ts";
import { TestRun } from "./test-run.entity.ts";

/** Runs of one transaction. Larger ones make live requests wait longer (docs/engineering/performance/rest.md). */
const BATCH_SIZE = 10;
/** Passes start at most once a second. 1,000 steps a second were measured. */
const MAX_STEPS_PER_PASS = 1_000;
/** Steps take no tokens, and each is sent to every endpoint. */
export const MAX_STEPS_PER_PARTNER = 50;

interface RunDeps {
  database: Database;
  clock: Clock;
  jobs: Pick<JobService, "updateBatch">;
  /** Schedules the next call of `applyDueSteps`. */
  scheduleStep: (atMs: number) => void;
}

interface Batch {
  agentId: string;
  /** Steps are due before this time. */
  now: number;
  size: number;
}

/**
 * Applies at most 1,000 steps that are due, in equal shares of at most 50 for the partners that have some, and schedules the next
 * call. The steps of suspended partners wait. A step and its run are changed in one transaction. If a transaction fails, those of
 * other partners go on, and the first error is thrown at the end.
 */
export async function applyDueSteps(deps: RunDeps): Promise<void> {
  const { clock, database, scheduleStep } = deps;
  const now = clock.now();
  const queue = await findAgentsWithDueSteps(database, now);
  const share = Math.max(1, Math.min(BATCH_SIZE, Math.floor(MAX_STEPS_PER_PASS / queue.length)));
  const errors: unknown[] = [];
  const applied = new Map<string, number>();
  let left = MAX_STEPS_PER_PASS;
  let isAnyLeft = false;
  for (let agentId = queue.shift(); agentId !== undefined && left > 0; agentId = queue.shift()) {
    const before = applied.get(agentId) ?? 0;
    const batch = { agentId, now, size: Math.min(share, left, MAX_STEPS_PER_PARTNER - before) };
    const runs = await database
      .transaction((tx) => applyBatch(deps, tx, batch))
      .catch((error: unknown) => {
        errors.push(error);
        return [];
      });
    for (const { steps, dueAt } of runs) if (steps.length > 0) scheduleStep(dueAt.getTime());
    applied.set(agentId, before + runs.length);
    left -= runs.length;
    if (runs.length < batch.size) continue;
    if (before + runs.length < MAX_STEPS_PER_PARTNER) queue.push(agentId);
    else isAnyLeft = true;
  }
  if (left === 0 || isAnyLeft) scheduleStep(clock.now());
  if (errors.length > 0) throw errors[0];
}

/** Returns the test agents that are not suspended, the longest waiting first. */
async function findAgentsWithDueSteps(database: Database, now: number): Promise<string[]> {
  const em = database.em();
  const due = await em
    .createQueryBuilder(TestRun)
    .select("*")
    .distinctOn("agentId")
    .where({ dueAt: { $lt: new Date(now) } })
    .orderBy({ agentId: "asc", dueAt: "asc" })
    .getResult();
  const active = await em.find(
    Organization,
    { id: { $in: due.map(({ agentId }) => agentId) }, suspendedAt: null },
    { fields: ["id"] },
  );
  const activeIds = new Set(active.map(({ id }) => id));
  return due
    .filter(({ agentId }) => activeIds.has(agentId))
    .toSorted((a, b) => a.dueAt.getTime() - b.dueAt.getTime())
    .map(({ agentId }) => agentId);
}

async function applyBatch(
  { jobs }: RunDeps,
  tx: Transaction,
  { agentId, now, size }: Batch,
): Promise<TestRun[]> {
  const em = tx.em();
  const runs = await em.find(
    TestRun,
    { agentId, dueAt: { $lt: new Date(now) } },
    { orderBy: { dueAt: "asc" }, limit: size, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
  );
  if (runs.length === 0) return runs;
  const actor = systemActor;
  const principal: OrganizationPrincipal = { organizationId: agentId, organizationType: "agent", actor };
  const items = runs.map(({ markingNumber, steps: [status = ""] }) => ({
    markingNumber,
    body: changeTo(status),
  }));
  await jobs.updateBatch(principal, items, { dryRun: false, actor, requestId: null, tx });
  for (const run of runs) {
    run.steps = run.steps.slice(1);
    // A late step keeps its distance to the next one. Passes start once a second, so it may be a second less.
    run.dueAt = new Date(Math.max(run.dueAt.getTime(), now - SECOND_MS) + run.intervalMs);
    if (run.steps.length === 0) em.remove(run);
  }
  await em.flush();
  return runs;
}
