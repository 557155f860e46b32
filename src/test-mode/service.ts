/** Test mode: creates test jobs, starts runs that change them step by step, sends events, and deletes all test data of a partner. */
import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import { deleteTestEvents, JobEvent, lastPosition } from "../events/api.ts";
import { deleteRecordsOf } from "../idempotency/api.ts";
import {
  createTestJobs,
  deleteTestJobs,
  findJob,
  Job,
  JOB_NOT_FOUND,
  type JobRow,
  type JobServiceDeps,
  reassignTestJob,
  unknownStatus,
} from "../jobs/api.ts";
import { AppError, badRequest, problemIn } from "../core/errors.ts";
import type { Clock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import type { ChangeContext, OrganizationPrincipal } from "../core/principal.ts";
import { deleteRequestsOf } from "../request-log/api.ts";
import { deleteTestDeliveries, type DeliveryView, deliverSampleEvent } from "../webhooks/api.ts";
import { type PathName, paths } from "./paths.ts";
import { exampleJob, type SampleEventRequest, sampleChanges } from "./sample-event.ts";
import { changeTestData, type TestOrganizations } from "./test-organizations.ts";
import { TestRun } from "./test-run.entity.ts";

export const JOBS_PER_REQUEST = { min: 1, max: 100, default: 1 } as const;
/** Of one test agent. */
export const MAX_TEST_JOBS = 1_000;
/** In milliseconds. */
export const STEP_INTERVAL = { min: 1_000, max: 600_000, default: 1_000 } as const;
export const MAX_STEPS = 50;

const inBody = problemIn("body");

export type TestPrincipal = OrganizationPrincipal & Pick<ChangeContext, "requestId">;

export interface TestJobRequest {
  /** Distinct Marking Numbers that start with `TEST-`, or the number of jobs with random ones. */
  numbers: number | readonly string[];
  template: Readonly<Record<string, unknown>>;
  assigned: boolean;
}

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

export interface DeletedTestData {
  jobs: number;
  events: number;
  deliveries: number;
  requests: number;
}

interface TestModeDeps extends JobServiceDeps {
  clock: Clock;
  /** Schedules `applyDueSteps` at a time. Absent: steps wait for the next sweep. */
  scheduleStep?: ((atMs: number) => void) | undefined;
  /** Writes the requests that this process has not logged yet. */
  flushRequestLog?: (() => Promise<void>) | undefined;
}

/** The caller must check that the principal is of a test organisation. */
export class TestModeService {
  readonly #deps: TestModeDeps;
  /** The partners whose reset is in progress in this process. */
  readonly #resets = new Set<string>();

  constructor(deps: TestModeDeps) {
    this.#deps = deps;
  }

  /**
   * Creates jobs of the test agent. Throws BadRequestException for an invalid template or jobs that the principal
   * could not see, and ConflictException above 1,000 jobs or if one of the Marking Numbers exists.
   */
  createJobs(
    principal: TestPrincipal,
    { numbers, template, assigned }: TestJobRequest,
    joined?: Transaction,
  ): Promise<JobRow[]> {
    if (!assigned && principal.organizationType === "contractor")
      throw badRequest([
        inBody("assigned", "conflict", "must be true, because a contractor sees only jobs assigned to it"),
      ]);
    const create = async (em: EntityManager, tx: Transaction, { agent, contractor }: TestOrganizations) => {
      const existing = await em.count(Job, { agent_id: agent });
      const count = typeof numbers === "number" ? numbers : numbers.length;
      if (existing + count > MAX_TEST_JOBS)
        throw new AppError(
          "ConflictException",
          `There are ${existing} test jobs; at most ${MAX_TEST_JOBS} can exist. Delete them with POST /v1/test/reset`,
          { details: { limit: MAX_TEST_JOBS } },
        );
      const { actor, requestId } = principal;
      const jobs = { numbers, template, agentId: agent, contractorId: assigned ? contractor : null };
      return await createTestJobs(this.#deps, tx, jobs, { principal, actor, requestId });
    };
    return changeTestData(this.#deps.database, principal, create, joined);
  }

  /**
   * Assigns a job of the test agent to the test contractor, or to none. The principal can be either of the two. Throws
   * NotFoundException.
   */
  reassignJob(
    principal: TestPrincipal,
    { markingNumber, assigned }: { markingNumber: string; assigned: boolean },
    joined?: Transaction,
  ) {
    const reassign = (_em: EntityManager, tx: Transaction, { agent, contractor }: TestOrganizations) => {
      const { actor, requestId } = principal;
      const asAgent = { organizationId: agent, organizationType: "agent", actor } as const;
      const contractorId = assigned ? contractor : null;
      return reassignTestJob(this.#deps, tx, asAgent, { markingNumber, contractorId, requestId });
    };
    return changeTestData(this.#deps.database, principal, reassign, joined);
  }

  /**
   * Starts a run. Its first step is due at once. Throws NotFoundException if the principal cannot see the job,
   * BadRequestException for an invalid path or step, and ConflictException if the job has a run.
   */
  async startRun(
    principal: TestPrincipal,
    markingNumber: string,
    { intervalMs, ...request }: RunRequest,
  ): Promise<JobRun> {
    const { clock, database, referenceData, scheduleStep } = this.#deps;
    const steps = stepsOf(request);
    const known = new Set((await referenceData.statuses()).map(({ code }) => code));
    const problems = steps.flatMap((code, index) =>
      known.has(code) ? [] : inBody(`steps[${index}]`, ...unknownStatus(code.slice(0, 100))),
    );
    if (problems.length > 0) throw badRequest(problems);
    return await changeTestData(database, principal, async (em, tx, { agent }) => {
      const { id: jobId } = await getJob(tx, principal, markingNumber);
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

  /** Returns the run with the steps that it did not apply. Throws NotFoundException for an unknown job or a job without a run. */
  async cancelRun(principal: TestPrincipal, markingNumber: string): Promise<JobRun> {
    const { database } = this.#deps;
    const { id: jobId } = await getJob(database, principal, markingNumber);
    return await database.transactional(async (em) => {
      // Waits for a step that is being applied.
      const run = await em.findOne(TestRun, { jobId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (!run) throw new AppError("NotFoundException", "The job has no run in progress");
      em.remove(run);
      return toJobRun(run);
    });
  }

  /**
   * Records an event of the type and delivers it to each active endpoint of the principal that receives the type. The job does
   * not change, so the event is not in its history. Throws NotFoundException for an unknown job or endpoint, and ConflictException if
   * no endpoint receives the event.
   */
  async sendEvent(
    principal: TestPrincipal,
    { type, markingNumber, endpointId }: SampleEventRequest,
    joined?: Transaction,
  ): Promise<DeliveryView[]> {
    const { database, notifyWorkers, notifySubscribers } = this.#deps;
    const send = async (em: EntityManager, tx: Transaction, organizations: TestOrganizations) => {
      const { agent, contractor, agentName, contractorName } = organizations;
      const found =
        markingNumber === undefined
          ? await findNewestJob(tx, principal)
          : await getJob(tx, principal, markingNumber);
      const job = found ?? exampleJob(organizations, new Date(this.#deps.clock.now()));
      const contractorId =
        job.contractor_id ?? (type === "job.assigned" || type === "job.unassigned" ? contractor : null);
      const event = em.create(JobEvent, {
        id: newUuid(),
        type,
        // The job has an event of its present version already, so this one has a job id of its own.
        jobId: newUuid(),
        agentId: agent,
        contractorId,
        sequence: job.version,
        actorType: principal.actor.type,
        actorId: principal.actor.id,
        requestId: principal.requestId,
        changes: sampleChanges[type]({ ...job, contractor_id: contractorId }),
        job: {
          ...job,
          agent_name: agentName,
          contractor_id: contractorId,
          contractor_name: contractorId === null ? null : contractorName,
        },
      });
      await em.persist(event).flush();
      const jobId = found?.id ?? null;
      const deliveries = await deliverSampleEvent(tx, principal, { id: event.id, type, jobId, endpointId });
      tx.afterCommit(() => {
        notifyWorkers();
        notifySubscribers([agent, contractor]);
      });
      return deliveries;
    };
    return await changeTestData(database, principal, send, joined);
  }

  /**
   * Deletes all jobs, events, deliveries, logged requests and stored responses of the partner's test organisations, in small
   * transactions. What remains is `job.deleted` of each job. Throws ConflictException during a run, unless `cancelRuns` is set, and
   * TooManyRequestsException during another reset. If it fails later, some data is left, and another reset deletes it.
   */
  async reset(
    principal: Pick<TestPrincipal, "liveOrganizationId" | "actor" | "requestId">,
    { cancelRuns = false } = {},
  ): Promise<DeletedTestData> {
    const { database, flushRequestLog } = this.#deps;
    const { liveOrganizationId: partnerId = "" } = principal;
    if (this.#resets.has(partnerId))
      throw new AppError(
        "TooManyRequestsException",
        "A reset of your test data is in progress. Try again in 5 s.",
        { headers: { "Retry-After": "5" } },
      );
    this.#resets.add(partnerId);
    try {
      const { organizations, jobs, position } = await changeTestData(
        database,
        principal,
        async (em, tx, found) => {
          if (cancelRuns) await em.nativeDelete(TestRun, { agentId: found.agent });
          else await assertNoRuns(em, found.agent);
          const deleted = await deleteTestJobs(this.#deps, tx, found, principal);
          return { organizations: found, jobs: deleted, position: await lastPosition(tx) };
        },
      );
      const ids = [organizations.agent, organizations.contractor];
      const events = await deleteTestEvents(database, organizations, position);
      // They contain jobs, and a repeated request would return jobs that no longer exist.
      await deleteRecordsOf(database, ids);
      const deliveries = await deleteTestDeliveries(database, ids);
      await flushRequestLog?.();
      return { jobs, events, deliveries, requests: await deleteRequestsOf(database, ids) };
    } finally {
      this.#resets.delete(partnerId);
    }
  }
}

/** Throws NotFoundException if the principal cannot see the job. */
async function getJob(on: Queryable, principal: TestPrincipal, markingNumber: string): Promise<JobRow> {
  const job = await findJob(on, principal, markingNumber);
  if (!job) throw new AppError("NotFoundException", JOB_NOT_FOUND);
  return job;
}

async function findNewestJob(tx: Transaction, principal: TestPrincipal): Promise<JobRow | null> {
  const newest = await tx.em().findOne(
    Job,
    {},
    {
      filters: { visibleTo: { principal } },
      orderBy: { created_at: "desc", id: "desc" },
      fields: ["marking_number"],
    },
  );
  return newest && (await findJob(tx, principal, newest.marking_number));
}

/** Throws ConflictException if a job of the test agent has a run. */
async function assertNoRuns(em: EntityManager, agentId: string): Promise<void> {
  const runs = await em.find(TestRun, { agentId });
  if (runs.length === 0) return;
  const endsAt = new Date(Math.max(...runs.map((run) => endOf(run).getTime()))).toISOString();
  throw new AppError(
    "ConflictException",
    `A run is in progress. Try again at ${endsAt}, or cancel it with DELETE /v1/test/jobs/by-marking/{markingNumber}/run`,
    { details: { ends_at: endsAt } },
  );
}

function stepsOf({ path, steps }: Pick<RunRequest, "path" | "steps">): readonly string[] {
  if (path !== undefined && steps === undefined) return paths[path];
  if (path === undefined && steps !== undefined) return steps;
  throw badRequest([inBody("path", "conflict", "must be given without steps, or steps without path")]);
}

function toJobRun(run: TestRun): JobRun {
  const { markingNumber, steps, intervalMs, dueAt } = run;
  return { markingNumber, steps, intervalMs, nextStepAt: dueAt, endsAt: endOf(run) };
}

function endOf({ steps, intervalMs, dueAt }: TestRun): Date {
  return new Date(dueAt.getTime() + (steps.length - 1) * intervalMs);
}
