/** What operators do to jobs, with the job service on a database of its own, an agent and a contractor. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { BulkOptions, ItemResult } from "../../../src/jobs/update/bulk.ts";
import type { NewJob } from "../../../src/jobs/job.operator.service.ts";
import type { OrganizationPrincipal } from "../../../src/platform/principal.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import {
  newMarkingNumber,
  openJobServiceFixture,
  operatorPrincipal,
  bulkOptions,
  type JobServiceFixture,
} from "./service.fixture.ts";

export interface OperatorJobFixture {
  /** `told` is emptied before each test. */
  services: () => JobServiceFixture;
  agent: () => OrganizationPrincipal;
  contractor: () => OrganizationPrincipal;
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

export const allOrNothingOptions: BulkOptions = { ...bulkOptions, errorPolicy: "all_or_nothing" };
export const dryRunOptions: BulkOptions = { ...bulkOptions, dryRun: true };
export const sortedOrganizationIds = (...partners: OrganizationPrincipal[]): string[] =>
  partners.map((one) => one.organizationId).toSorted();

/** To be called once in a test file, outside of its tests: it registers what sets the rig up and takes it down. */
export function useOperatorJobFixture(): OperatorJobFixture {
  let services: JobServiceFixture;
  let agent: OrganizationPrincipal;
  let contractor: OrganizationPrincipal;
  beforeAll(async () => {
    services = await openJobServiceFixture();
    agent = await services.createOrganization("agent");
    contractor = await services.createOrganization("contractor");
  });
  afterAll(() => services[Symbol.asyncDispose]());
  beforeEach(() => {
    services.notifications.workers = 0;
    services.notifications.organizationIds = [];
  });
  return {
    services: () => services,
    agent: () => agent,
    contractor: () => contractor,
    create: (jobs, how = bulkOptions) => services.operatorJobs.createJobs(operatorPrincipal, jobs, how),
    newJob: (rest = {}) => ({
      markingNumber: newMarkingNumber(),
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
