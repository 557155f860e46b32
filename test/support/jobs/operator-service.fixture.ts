/** The operators' job service on a new database with an agent and a contractor. */
import { beforeAll } from "vitest";
import type { BulkOptions, ItemResult } from "../../../src/jobs/update/bulk.ts";
import type { NewJob } from "../../../src/jobs/operator.service.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { newMarkingNumber, operatorPrincipal, bulkOptions, useJobServiceFixture } from "./service.fixture.ts";

export interface StoredEvent {
  type: string;
  sequence: number;
  changes: Record<string, unknown>;
  request_id: string;
}

export const dryRunOptions: BulkOptions = { ...bulkOptions, dryRun: true };

/** Call once per test file, outside tests: registers the hooks for set-up and clean-up. */
export function useOperatorJobFixture() {
  const services = useJobServiceFixture();
  let agent: OrganizationPrincipal;
  let contractor: OrganizationPrincipal;
  beforeAll(async () => {
    agent = await services.createOrganization("agent");
    contractor = await services.createOrganization("contractor");
  });
  return {
    services: () => services,
    agent: () => agent,
    contractor: () => contractor,
    create: (jobs: readonly NewJob[], options = bulkOptions): Promise<ItemResult[]> =>
      services.operatorJobs.createJobs(operatorPrincipal, jobs, options),
    /** Returns the input for a new job of the agent. */
    newJob: (rest: Partial<NewJob> = {}): NewJob => ({
      markingNumber: newMarkingNumber(),
      agentId: agent.organizationId,
      contractorId: null,
      fields: {},
      providerStatus: null,
      ...rest,
    }),
    /** In order. */
    eventsOf: (markingNumber: string) =>
      services.database.query<StoredEvent>(sql`
        select type, sequence, changes, request_id from job_event
        where job ->> 'marking_number' = ${markingNumber} order by sequence, position`),
  };
}
