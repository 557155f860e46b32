/** What operators do to jobs, with the job service on a database of its own, an agent and a contractor. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { BulkOptions, ItemResult } from "../../src/jobs/job.bulk.ts";
import type { NewJob } from "../../src/jobs/job.operations.ts";
import type { Principal } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { newNumber, openJobServices, operator, options, type JobServices } from "./job-services.ts";

export interface JobOperationsRig {
  /** `told` is emptied before each test. */
  services: () => JobServices;
  agent: () => Principal;
  contractor: () => Principal;
  create: (jobs: readonly NewJob[], how?: BulkOptions) => Promise<ItemResult[]>;
  /** A job of the agent's, to be made. */
  newJob: (rest?: Partial<NewJob>) => NewJob;
  /** The events of a job, in their order. */
  eventsOf: (markingNumber: string) => Promise<StoredEvent[]>;
}

export interface StoredEvent {
  type: string;
  sequence: number;
  changes: Record<string, unknown>;
  request_id: string;
}

export const allOrNothing: BulkOptions = { ...options, errorPolicy: "all_or_nothing" };
export const dry: BulkOptions = { ...options, dryRun: true };
export const seers = (...partners: Principal[]): string[] =>
  partners.map((one) => one.organizationId).toSorted();

/** To be called once in a test file, outside of its tests: it registers what sets the rig up and takes it down. */
export function useJobOperations(): JobOperationsRig {
  let services: JobServices;
  let agent: Principal;
  let contractor: Principal;
  beforeAll(async () => {
    services = await openJobServices();
    agent = await services.partner("agent");
    contractor = await services.partner("contractor");
  });
  afterAll(() => services[Symbol.asyncDispose]());
  beforeEach(() => {
    services.told.announced = 0;
    services.told.happened = [];
  });
  return {
    services: () => services,
    agent: () => agent,
    contractor: () => contractor,
    create: (jobs, how = options) => services.operations.createJobs(operator, jobs, how),
    newJob: (rest = {}) => ({
      markingNumber: newNumber(),
      agentId: agent.organizationId,
      contractorId: null,
      fields: {},
      providerStatus: null,
      ...rest,
    }),
    eventsOf: (markingNumber) =>
      services.database.query<StoredEvent>(sql`
        select type, sequence, changes, request_id from job_event
        where job ->> 'marking_number' = ${markingNumber} order by sequence`),
  };
}
