/** Starts and cancels runs of test jobs. */
import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import { Job, JOB_NOT_FOUND, type JobServiceDeps, unknownStatus } from "../jobs/api.ts";
import type { Clock } from "../core/clock.ts";
import { AppError, badRequest, problemIn } from "../core/errors.ts";
import type { OrganizationPrincipal } from "../core/principal.ts";
import { type PathName, paths } from "./paths.ts";
import { changeTestData } from "./test-organizations.ts";
import { TestRun } from "./test-run.entity.ts";

/** In milliseconds. */
export const STEP_INTERVAL = { min: 1_000, max: 600_000, default: 1_000 } as const;
export const MAX_STEPS = 50;

const inBody = problemIn("body");

export interface RunRequest {
  /** A named path. Either it or `steps` is given. */
  path?: PathName | undefined;
  /** Statuses in order. */
  steps?: readonly string[] | undefined;
  intervalMs: number;
}

export interface JobRun {
  markingNumber: string;
  /** The statuses that are left, in order. */
  steps: readonly string[];
  intervalMs: number;
  nextStepAt: Date;
  endsAt: Date;
}

export interface RunDeps extends Pick<JobServiceDeps, "database" | "referenceData"> {
  clock: Clock;
  /** Schedules `applyDueSteps` at a time. Absent: steps wait for the next sweep. */
  scheduleStep?: ((atMs: number) => void) | undefined;
}

export async function startRun(
  deps: RunDeps,
  principal: OrganizationPrincipal,
  markingNumber: string,
  { intervalMs, ...request }: RunRequest,
): Promise<JobRun> {
  const { clock, database, scheduleStep } = deps;
  const steps = stepsOf(request);
  await assertKnownStatuses(deps, steps);
  return await changeTestData(database, principal, async (em, tx, { agent }) => {
    const jobId = await getJobId(em, principal, markingNumber);
    const other = await em.findOne(TestRun, { jobId });
    if (other)
      throw new AppError(
        "ConflictException",
        `The job has a run with ${other.steps.length} steps left. It ends at ${endOf(other).toISOString()}`,
        { details: { ends_at: endOf(other).toISOString() } },
      );
    const dueAt = new Date(clock.now());
    const run = em.create(TestRun, {
      jobId,
      agentId: agent,
      markingNumber,
      steps: [...steps],
      intervalMs,
      dueAt,
    });
    em.persist(run);
    tx.afterCommit(() => scheduleStep?.(clock.now()));
    return toJobRun(run);
  });
}

export async function cancelRun(
  { database }: RunDeps,
  principal: OrganizationPrincipal,
  markingNumber: string,
): Promise<JobRun> {
  return await database.transactional(async (em) => {
    const jobId = await getJobId(em, principal, markingNumber);
    // Waits for a step that is being applied.
    const run = await em.findOne(TestRun, { jobId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!run) throw new AppError("NotFoundException", "The job has no run in progress");
    em.remove(run);
    return toJobRun(run);
  });
}

/** Throws ConflictException if a job of the test agent has a run. */
export async function assertNoRuns(em: EntityManager, agentId: string): Promise<void> {
  const runs = await em.find(TestRun, { agentId });
  if (runs.length === 0) return;
  const endsAt = new Date(Math.max(...runs.map((run) => endOf(run).getTime()))).toISOString();
  const [subject, object] = runs.length === 1 ? ["A run is", "it"] : [`${runs.length} runs are`, "them"];
  throw new AppError(
    "ConflictException",
    `${subject} in progress. Try again at ${endsAt}, or cancel ${object} with DELETE /v1/test/jobs/by-marking/{markingNumber}/run`,
    { details: { ends_at: endsAt } },
  );
}

/** Throws NotFoundException if the principal cannot see the job. */
async function getJobId(
  em: EntityManager,
  principal: OrganizationPrincipal,
  markingNumber: string,
): Promise<string> {
  const job = await em.findOne(
    Job,
    { marking_number: markingNumber },
    { filters: { visibleTo: { principal } }, fields: ["id"] },
  );
  if (!job) throw new AppError("NotFoundException", JOB_NOT_FOUND);
  return job.id;
}

async function assertKnownStatuses(
  { referenceData }: Pick<RunDeps, "referenceData">,
  steps: readonly string[],
): Promise<void> {
  const known = new Set((await referenceData.statuses()).map(({ code }) => code));
  const problems = steps.flatMap((code, index) =>
    known.has(code) ? [] : inBody(`steps[${index}]`, ...unknownStatus(code.slice(0, 100))),
  );
  if (problems.length > 0) throw badRequest(problems);
}

function stepsOf({ path, steps }: Pick<RunRequest, "path" | "steps">): readonly string[] {
  if (path !== undefined && steps === undefined) return paths[path];
  if (path === undefined && steps !== undefined) return steps;
  throw badRequest([inBody("path", "conflict", "must be given without steps, or steps without path")]);
}

function toJobRun(run: Pick<TestRun, "markingNumber" | "steps" | "intervalMs" | "dueAt">): JobRun {
  const { markingNumber, steps, intervalMs, dueAt } = run;
  return { markingNumber, steps, intervalMs, nextStepAt: dueAt, endsAt: endOf(run) };
}

function endOf({ steps, intervalMs, dueAt }: Pick<TestRun, "steps" | "intervalMs" | "dueAt">): Date {
  return new Date(dueAt.getTime() + (steps.length - 1) * intervalMs);
}
