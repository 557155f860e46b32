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
  scheduleStep: (atMs: number) => void;
}

/**
 * Applies at most 1,000 steps that are due, in equal shares of at most 50 for the partners that have some, and schedules the next
 * call. The steps of suspended partners wait. A step and its run are changed in one transaction. If a transaction fails, those of
 * other partners go on, and the first error is thrown at the end.
 */
export async function applyDueSteps(deps: RunDeps): Promise<void> {
  const { clock, scheduleStep } = deps;
  const agentIds = await findAgentsWithDueSteps(deps);
  const share = Math.max(
    1,
    Math.min(MAX_STEPS_PER_PARTNER, Math.floor(MAX_STEPS_PER_PASS / agentIds.length)),
  );
  const errors: unknown[] = [];
  let isAnyLeft = false;
  for (const agentId of agentIds) {
    try {
      isAnyLeft = (await applyShare(deps, agentId, share)) || isAnyLeft;
    } catch (error) {
      errors.push(error);
    }
  }
  if (isAnyLeft) scheduleStep(clock.now());
  if (errors.length > 0) throw errors[0];
}

const isDue = ({ clock }: RunDeps) => ({ dueAt: { $lt: new Date(clock.now()) } });

/** Returns the test agents that are not suspended. */
async function findAgentsWithDueSteps(deps: RunDeps): Promise<string[]> {
  const em = deps.database.em();
  const due = em.createQueryBuilder(TestRun).select("agentId").where(isDue(deps));
  const agents = await em.find(Organization, { id: { $in: due }, suspendedAt: null }, { fields: ["id"] });
  return agents.map(({ id }) => id);
}

/** Returns whether the whole share was due, so that more steps may be. */
async function applyShare(deps: RunDeps, agentId: string, share: number): Promise<boolean> {
  for (let left = share; left > 0; left -= BATCH_SIZE) {
    const size = Math.min(BATCH_SIZE, left);
    const runs = await deps.database.transaction((tx) => applyBatch(deps, tx, { agentId, size }));
    for (const { steps, dueAt } of runs) if (steps.length > 0) deps.scheduleStep(dueAt.getTime());
    if (runs.length < size) return false;
  }
  return true;
}

async function applyBatch(
  deps: RunDeps,
  tx: Transaction,
  { agentId, size }: { agentId: string; size: number },
): Promise<TestRun[]> {
  const em = tx.em();
  const runs = await em.find(
    TestRun,
    { agentId, ...isDue(deps) },
    { orderBy: { dueAt: "asc" }, limit: size, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
  );
  if (runs.length === 0) return runs;
  const actor = systemActor;
  const principal: OrganizationPrincipal = { organizationId: agentId, organizationType: "agent", actor };
  const items = runs.map(({ markingNumber, steps: [status = ""] }) => ({
    markingNumber,
    body: changeTo(status),
  }));
  await deps.jobs.updateBatch(principal, items, { dryRun: false, actor, requestId: null, tx });
  for (const run of runs) {
    run.steps = run.steps.slice(1);
    // A late step keeps its distance to the next one. Passes start once a second, so it may be a second less.
    run.dueAt = new Date(Math.max(run.dueAt.getTime(), deps.clock.now() - SECOND_MS) + run.intervalMs);
    if (run.steps.length === 0) em.remove(run);
  }
  await em.flush();
  return runs;
}
