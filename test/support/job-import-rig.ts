/**
 * Imports of jobs into a database of their own, which has two agents, "Agent Ä, Ltd" and "Rival", and two contractors,
 * "Swift" and "Other".
 */
import { afterAll, beforeAll } from "vitest";
import { entities } from "../../src/entities.ts";
import { createJobCodes } from "../../src/jobs/job.codes.ts";
import type { JobPatch } from "../../src/jobs/job.fields.ts";
import {
  importJobs,
  type ImportCounts,
  type ImportOptions,
  type ImportServices,
  type RowFailure,
} from "../../src/jobs/job.import.ts";
import { readRows, type FileFormat } from "../../src/jobs/job.import.rows.ts";
import { upsertRows, type JobUpsert } from "../../src/jobs/job.upsert.ts";
import { createOrganizationService } from "../../src/organizations/organization.service.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { systemActor } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { newNumber } from "./job-services.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";

export interface JobImportRig {
  database: () => Database;
  services: () => ImportServices;
  /** The uuids of the organisations, there once the tests run. */
  organization: { agent: string; rival: string; contractor: string; other: string };
  importFile: (
    file: string | Uint8Array,
    options?: Partial<ImportOptions>,
    format?: FileFormat,
  ) => Promise<ImportResult>;
  /** A row that is a string is a line as it is. */
  importNdjson: (rows: readonly unknown[], options?: Partial<ImportOptions>) => Promise<ImportResult>;
  /** Makes a job of the agent's; answers with its Marking Number. */
  makeJob: (patch?: JobPatch, rest?: Partial<JobUpsert>) => Promise<string>;
  jobOf: (markingNumber: string) => Promise<Record<string, unknown>>;
}

export interface ImportResult {
  counts: ImportCounts;
  failures: RowFailure[];
  chunks: number;
}

export const context = { actor: systemActor, requestId: null };
export const byAgent = { agent: "Agent Ä, Ltd" };

/** In small pieces, as a slow pipe would bring it. */
export async function* bytesOf(file: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(file);
  for (let at = 0; at < bytes.length; at += 1_021) yield bytes.subarray(at, at + 1_021);
}

/** `[line, field, message]` of every problem. */
export const problemsOf = ({ failures }: ImportResult) =>
  failures.flatMap(({ line, problems }) => problems.map(({ field, message }) => [line, field, message]));

export const countsOf = ({ counts: { created, updated, unchanged, failed } }: ImportResult) => [
  created,
  updated,
  unchanged,
  failed,
];

/** To be called once in a test file, outside of its tests: it registers what sets the rig up and takes it down. */
export function useJobImports(): JobImportRig {
  let testDatabase: TestDatabase;
  let database: Database;
  let services: ImportServices;
  const organization = { agent: "", rival: "", contractor: "", other: "" };
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = await openDatabase({ url: testDatabase.url, poolSize: 4, entities });
    const organizations = createOrganizationService({ database });
    services = {
      database,
      codes: createJobCodes(database),
      organizations,
      announce: () => undefined,
      happened: () => undefined,
    };
    organization.agent = (await organizations.create({ name: "Agent Ä, Ltd", type: "agent" })).id;
    organization.rival = (await organizations.create({ name: "Rival", type: "agent" })).id;
    organization.contractor = (await organizations.create({ name: "Swift", type: "contractor" })).id;
    organization.other = (await organizations.create({ name: "Other", type: "contractor" })).id;
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    await testDatabase[Symbol.asyncDispose]();
  });
  const importFile: JobImportRig["importFile"] = (file, options, format) =>
    importInto(services, file, options, format);
  return {
    database: () => database,
    services: () => services,
    organization,
    importFile,
    importNdjson: (rows, options) =>
      importFile(
        rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n"),
        options,
        "ndjson",
      ),
    async makeJob(patch = {}, rest = {}) {
      const markingNumber = newNumber();
      const upsert = { markingNumber, agentId: organization.agent, patch, ...rest };
      await database.transaction((tx) => upsertRows(tx, [upsert], context));
      return markingNumber;
    },
    async jobOf(markingNumber) {
      const [job] = await database.query<Record<string, unknown>>(
        sql`select * from job where marking_number = ${markingNumber}`,
      );
      return job ?? {};
    },
  };
}

async function importInto(
  services: ImportServices,
  file: string | Uint8Array,
  options: Partial<ImportOptions> = byAgent,
  format: FileFormat = "csv",
): Promise<ImportResult> {
  const result: ImportResult = {
    counts: { created: 0, updated: 0, unchanged: 0, failed: 0 },
    failures: [],
    chunks: 0,
  };
  const rows = readRows(bytesOf(file), { format });
  for await (const { counts, failures } of importJobs(services, rows, {
    dryRun: false,
    ...context,
    ...options,
  })) {
    for (const name of Object.keys(counts) as (keyof ImportCounts)[]) result.counts[name] += counts[name];
    result.failures.push(...failures);
    result.chunks += 1;
  }
  return result;
}
