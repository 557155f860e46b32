/** Applies the steps of runs that are due. Any process can call it; each step is applied by one of them. */
import { LockMode } from "@mikro-orm/postgresql";
import type { JobService } from "../jobs/api.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/postgres/database.ts";
import type { Transaction } from "../platform/postgres/transaction.ts";
import { type OrganizationPrincipal, systemActor } from "../platform/principal.ts";
import { changeTo } from "./paths.ts";
import { TestRun } from "./test-run.entity.ts";

/** Runs of one transaction. Larger ones make live requests wait longer: `npm run bench:runs`. */
const BATCH_SIZE = 10;

interface RunDeps {
  database: Database;
  clock: Clock;
  jobs: Pick<JobService, "updateBatch">;
  /** Schedules the next call of `applyDueSteps`. */
  scheduleStep: (atMs: number) => void;
}

/** Applies all steps that are due, and schedules the next ones. A step and its run are changed in one transaction. */
export async function applyDueSteps(deps: RunDeps): Promise<void> {
  for (;;) {
    const runs = await deps.database.transaction((tx) => applyBatch(deps, tx));
    for (const { steps, dueAt } of runs) if (steps.length > 0) deps.scheduleStep(dueAt.getTime());
    if (runs.length < BATCH_SIZE) return;
  }
}

async function applyBatch({ clock, jobs }: RunDeps, tx: Transaction): Promise<TestRun[]> {
  const em = tx.em();
  const now = clock.now();
  const runs = await em.find(
    TestRun,
    { dueAt: { $lte: new Date(now) } },
    { orderBy: { dueAt: "asc" }, limit: BATCH_SIZE, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
  );
  for (const [agentId, ofAgent] of Map.groupBy(runs, (run) => run.agentId)) {
    const actor = systemActor;
    const principal: OrganizationPrincipal = { organizationId: agentId, organizationType: "agent", actor };
    const items = ofAgent.map(({ markingNumber, steps: [status = ""] }) => ({
      markingNumber,
      body: changeTo(status),
    }));
    await jobs.updateBatch(principal, items, { dryRun: false, actor, requestId: null, tx });
  }
  for (const run of runs) {
    run.steps = run.steps.slice(1);
    run.dueAt = new Date(Math.max(run.dueAt.getTime() + run.intervalMs, now));
    if (run.steps.length === 0) em.remove(run);
  }
  await em.flush();
  return runs;
}
