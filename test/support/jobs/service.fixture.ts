/** The job services on a new database, with recorded notifications and an endpoint for all events in each organisation. */
import { randomBytes } from "node:crypto";
import { beforeEach } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import type { BulkOptions, ItemResult } from "../../../src/jobs/update/bulk.ts";
import { createJobReferenceData } from "../../../src/jobs/reference-data.ts";
import { OperatorJobService } from "../../../src/jobs/operator.service.ts";
import { JobService } from "../../../src/jobs/service.ts";
import { upsertRows, type JobUpsert } from "../../../src/jobs/update/upsert.sql.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { openDatabase, type Database, type Queryable } from "../../../src/core/postgres/database.ts";
import { newUuid } from "../../../src/core/ids.ts";
import {
  systemActor,
  type OperatorPrincipal,
  type OrganizationType,
  type OrganizationPrincipal,
} from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { startFaultProxy } from "../database/fault-proxy.ts";
import { createTestDatabase } from "../database/test-database.ts";
import { useFixture } from "../use-fixture.ts";

export type JobServiceFixture = Awaited<ReturnType<typeof openJobServiceFixture>>;

export type StoredJob = Record<string, unknown> & { version: number };

export interface RowCounts {
  jobs: number;
  events: number;
  deliveries: number;
}

export const operatorPrincipal: OperatorPrincipal = {
  organizationId: null,
  organizationType: null,
  actor: systemActor,
};
export const bulkOptions: BulkOptions = { actor: systemActor, requestId: "req_test", dryRun: false };
export const allOrNothingOptions: BulkOptions = { ...bulkOptions, errorPolicy: "all_or_nothing" };
export const sortedOrganizationIds = (...principals: OrganizationPrincipal[]): string[] =>
  principals.map((principal) => principal.organizationId).toSorted();
export const newMarkingNumber = (): string => `MN-${randomBytes(8).toString("hex")}`;

/** Returns the outcome of each item, or the error code (without "Exception") of a failed one. */
export function summarizeOutcomes(results: readonly ItemResult[]): string[] {
  return results.map((result) =>
    result.outcome === "failed" ? result.failure.code.replace("Exception", "") : result.outcome,
  );
}

/** Call once per test file, outside tests: registers the hooks for set-up and clean-up. Later hooks and tests can use the result. `notifications` is cleared before each test. */
export function useJobServiceFixture(): JobServiceFixture {
  const fixture = useFixture(openJobServiceFixture);
  beforeEach(() => {
    fixture.notifications.workers = 0;
    fixture.notifications.organizationIds = [];
  });
  return fixture;
}

/** The rows of `table` that this connection has read in the transaction `tx`. */
export async function rowsRead(tx: Queryable, table: "job" | "job_search" = "job"): Promise<number> {
  const [row] = await tx.query<{ read: number }>(sql`
    select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = ${table}`);
  return row?.read ?? 0;
}

export async function openJobServiceFixture() {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await createTestDatabase());
  const proxy = stack.use(await startFaultProxy(url));
  const database = stack.use(await openDatabase({ url: proxy.url, poolSize: 6, entities }));
  const referenceData = createJobReferenceData(database);
  /** Calls of notifyWorkers, and the sorted organisation IDs of each notifySubscribers call. */
  const notifications: { workers: number; organizationIds: string[][] } = { workers: 0, organizationIds: [] };
  const deps = {
    database,
    referenceData,
    notifyWorkers: () => void (notifications.workers += 1),
    notifySubscribers: (ids: readonly string[]) => void notifications.organizationIds.push(ids.toSorted()),
  };
  return {
    database,
    databaseUrl: url,
    /** All executed SQL statements, in order. Tests may clear it. */
    statements: proxy.statements,
    referenceData,
    jobs: new JobService(deps),
    operatorJobs: new OperatorJobService(deps),
    notifications,
    createOrganization: (type: OrganizationType) => insertOrganization(database, type),
    /** Returns the Marking Number. */
    async createJob(agent: OrganizationPrincipal, upsert: Partial<JobUpsert> = {}): Promise<string> {
      const job = { markingNumber: newMarkingNumber(), agentId: agent.organizationId, patch: {}, ...upsert };
      await database.transaction((tx) => upsertRows(tx, [job], bulkOptions));
      return job.markingNumber;
    },
    async readJob(markingNumber: string) {
      const [job] = await database.query<StoredJob>(
        sql`select * from job where marking_number = ${markingNumber}`,
      );
      return job ?? { version: 0 };
    },
    async countRows() {
      const [row] = await database.query<RowCounts>(sql`
        select (select count(*)::int from job) as jobs, (select count(*)::int from job_event) as events,
          (select count(*)::int from webhook_delivery) as deliveries`);
      return row ?? { jobs: 0, events: 0, deliveries: 0 };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function insertOrganization(
  database: Database,
  type: OrganizationType,
): Promise<OrganizationPrincipal> {
  const name = `${type} ${randomBytes(6).toString("hex")}`;
  const { id } = await new OrganizationService({ database }).create({ name, type });
  await database.query(sql`
    insert into webhook_endpoint (id, organization_id, url, secrets, created_by)
    values (${newUuid()}, ${id}, 'https://example.test', '[]', 'test')`);
  return { organizationId: id, organizationType: type, actor: systemActor };
}
