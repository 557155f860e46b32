/** The job service on a database of its own, with organisations, webhooks that want everything, and all that was told. */
import { randomBytes } from "node:crypto";
import { entities } from "../../src/entities.ts";
import type { BulkOptions, ItemResult } from "../../src/jobs/job.bulk.ts";
import { createJobCodes, type JobCodes } from "../../src/jobs/job.codes.ts";
import { createJobOperations, type JobOperations } from "../../src/jobs/job.operations.ts";
import { createJobService, type JobService } from "../../src/jobs/job.service.ts";
import { upsertRows, type JobUpsert } from "../../src/jobs/job.upsert.ts";
import { createOrganizationService } from "../../src/organizations/organization.service.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { newUuid } from "../../src/platform/ids.ts";
import {
  systemActor,
  type Operator,
  type OrganizationType,
  type Principal,
} from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { startCuttableProxy } from "./cuttable-proxy.ts";
import { createTestDatabase } from "./test-database.ts";

export interface JobServices extends AsyncDisposable {
  readonly database: Database;
  readonly databaseUrl: string;
  /** Every statement that passed, in order; a test may empty it. */
  readonly statements: string[];
  readonly codes: JobCodes;
  readonly jobs: JobService;
  readonly operations: JobOperations;
  /** What listeners were told since `told` was last emptied. */
  readonly told: { announced: number; happened: string[][] };
  /** An organisation with an endpoint that wants every event. */
  partner(type: OrganizationType): Promise<Principal>;
  /** Makes a job of the agent's; answers with its Marking Number. */
  job(agent: Principal, upsert?: Partial<JobUpsert>): Promise<string>;
  stored(markingNumber: string): Promise<StoredJob>;
  counts(): Promise<Counts>;
}

export type StoredJob = Record<string, unknown> & { version: number };

export interface Counts {
  jobs: number;
  events: number;
  deliveries: number;
}

export const operator: Operator = { organizationId: null, organizationType: null, actor: systemActor };
export const options: BulkOptions = { actor: systemActor, requestId: "req_test", dryRun: false };
export const newNumber = (): string => `MN-${randomBytes(8).toString("hex")}`;

/** What is told of an item, in short: its outcome, or the code of its failure. */
export function outcomesOf(results: readonly ItemResult[]): string[] {
  return results.map((result) =>
    result.outcome === "failed" ? result.failure.code.replace("Exception", "") : result.outcome,
  );
}

export async function openJobServices(): Promise<JobServices> {
  const opened = new AsyncDisposableStack();
  const { url } = opened.use(await createTestDatabase());
  const proxy = opened.use(await startCuttableProxy(url));
  const database = opened.use(await openDatabase({ url: proxy.url, poolSize: 6, entities }));
  const codes = createJobCodes(database);
  const told: JobServices["told"] = { announced: 0, happened: [] };
  const parts = {
    database,
    codes,
    announce: () => void (told.announced += 1),
    happened: (ids: readonly string[]) => void told.happened.push(ids.toSorted()),
  };
  return {
    database,
    databaseUrl: url,
    statements: proxy.statements,
    codes,
    jobs: createJobService(parts),
    operations: createJobOperations(parts),
    told,
    partner: (type) => makePartner(database, type),
    async job(agent, upsert = {}) {
      const made = { markingNumber: newNumber(), agentId: agent.organizationId, patch: {}, ...upsert };
      await database.transaction((tx) => upsertRows(tx, [made], options));
      return made.markingNumber;
    },
    async stored(markingNumber) {
      const [job] = await database.query<StoredJob>(
        sql`select * from job where marking_number = ${markingNumber}`,
      );
      return job ?? { version: 0 };
    },
    async counts() {
      const [row] = await database.query<Counts>(sql`
        select (select count(*)::int from job) as jobs, (select count(*)::int from job_event) as events,
          (select count(*)::int from webhook_delivery) as deliveries`);
      return row ?? { jobs: 0, events: 0, deliveries: 0 };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function makePartner(database: Database, type: OrganizationType): Promise<Principal> {
  const name = `${type} ${randomBytes(6).toString("hex")}`;
  const { id } = await createOrganizationService({ database }).create({ name, type });
  await database.query(sql`
    insert into webhook_endpoint (id, organization_id, url, secrets, created_by)
    values (${newUuid()}, ${id}, 'https://example.test', '[]', 'test')`);
  return { organizationId: id, organizationType: type, actor: systemActor };
}
