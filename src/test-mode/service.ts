/** Test mode: creates test jobs, starts runs that change them step by step, sends events, and deletes all test data of a partner. */
import type { EntityManager } from "@mikro-orm/postgresql";
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
} from "../jobs/api.ts";
import { AppError, badRequest, problemIn } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import type { ChangeContext, OrganizationPrincipal } from "../core/principal.ts";
import { deleteRequestsOf } from "../request-log/api.ts";
import { deleteTestDeliveries, type DeliveryView, deliverSampleEvent } from "../webhooks/api.ts";
import { exampleJob, type SampleEventRequest, sampleChanges } from "./sample-event.ts";
import { changeTestData, type TestOrganizations } from "./test-organizations.ts";
import {
  assertNoRuns,
  cancelRun,
  type JobRun,
  type RunDeps,
  type RunRequest,
  startRun,
} from "./test-run.changes.ts";
import { TestRun } from "./test-run.entity.ts";

export const JOBS_PER_REQUEST = { min: 1, max: 100, default: 1 } as const;
/** Of one test agent. */
export const MAX_TEST_JOBS = 1_000;

export type TestPrincipal = OrganizationPrincipal & Pick<ChangeContext, "requestId">;

export interface TestJobRequest {
  /** Distinct Marking Numbers that start with `TEST-`, or the number of jobs with random ones. */
  numbers: number | readonly string[];
  template: Readonly<Record<string, unknown>>;
  /** Whether the jobs are assigned to the test contractor. */
  assigned: boolean;
}

export interface DeletedTestData {
  jobs: number;
  events: number;
  deliveries: number;
  requests: number;
}

export interface ResetOptions {
  /** Default: a run in progress is a conflict. */
  cancelRuns?: boolean;
}

interface TestModeDeps extends JobServiceDeps, RunDeps {
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
        problemIn("body")(
          "assigned",
          "conflict",
          "must be true, because a contractor sees only jobs assigned to it",
        ),
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
  startRun(principal: TestPrincipal, markingNumber: string, request: RunRequest): Promise<JobRun> {
    return startRun(this.#deps, principal, markingNumber, request);
  }

  /** Returns the run with the steps that it did not apply. Throws NotFoundException for an unknown job or a job without a run. */
  cancelRun(principal: TestPrincipal, markingNumber: string): Promise<JobRun> {
    return cancelRun(this.#deps, principal, markingNumber);
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
      const found = await this.#jobFor(tx, principal, markingNumber);
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
   * transactions. What remains is `job.deleted` of each job. Throws ConflictException during a run, and TooManyRequestsException
   * during another reset. If it fails later, some data is left, and another reset deletes it.
   */
  async reset(
    principal: Pick<TestPrincipal, "liveOrganizationId" | "actor" | "requestId">,
    { cancelRuns = false }: ResetOptions = {},
  ): Promise<DeletedTestData> {
    const { database, flushRequestLog } = this.#deps;
    const { liveOrganizationId: partnerId = "" } = principal;
    if (this.#resets.has(partnerId)) throw resetInProgress();
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

  /** The job with this Marking Number, or the newest one of the principal; null if there is none. */
  async #jobFor(
    tx: Transaction,
    principal: TestPrincipal,
    markingNumber: string | undefined,
  ): Promise<JobRow | null> {
    if (markingNumber !== undefined) {
      const job = await findJob(tx, principal, markingNumber);
      if (!job) throw new AppError("NotFoundException", JOB_NOT_FOUND);
      return job;
    }
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
}

function resetInProgress(): AppError {
  return new AppError(
    "TooManyRequestsException",
    "A reset of your test data is in progress. Try again in 5 s.",
    { headers: { "Retry-After": "5" } },
  );
}
