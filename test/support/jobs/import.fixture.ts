/**
 * Imports jobs into a new database with the agents "Agent Ä, Ltd" and "Rival" and the contractors "Swift" and "Other".
 */
import { afterAll, beforeAll } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { createJobReferenceData } from "../../../src/jobs/reference-data.ts";
import type { JobPatch } from "../../../src/jobs/fields.ts";
import {
  importJobs,
  type ImportCounts,
  type ImportDeps,
  type ImportOptions,
  type ImportRequest,
  type RowFailure,
} from "../../../src/jobs/import-export/import.ts";
import { readRows, type FileFormat } from "../../../src/jobs/import-export/import-rows.ts";
import { upsertRows, type JobUpsert } from "../../../src/jobs/update/upsert.sql.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { newMarkingNumber } from "./service.fixture.ts";
import { createTestDatabase, type TestDatabase } from "../database/test-database.ts";

type FixtureOptions = Partial<ImportRequest> & Pick<ImportOptions, "importer">;

export interface ImportFixtureResult {
  counts: ImportCounts;
  failures: RowFailure[];
  chunks: number;
}

export const context = { actor: systemActor, requestId: null };
export const defaultAgent = { agent: "Agent Ä, Ltd" };

/** Yields the file in chunks of 1,021 bytes, like a slow pipe. */
export async function* streamBytes(file: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(file);
  for (let offset = 0; offset < bytes.length; offset += 1_021) yield bytes.subarray(offset, offset + 1_021);
}

/** Returns `[line, field, message]` of every problem. */
export const problemsOf = ({ failures }: ImportFixtureResult) =>
  failures.flatMap(({ line, problems }) => problems.map(({ field, message }) => [line, field, message]));

export const countsOf = ({ counts: { created, updated, unchanged, failed } }: ImportFixtureResult) => [
  created,
  updated,
  unchanged,
  failed,
];

/** Call once per test file, outside tests: registers the hooks for set-up and clean-up. */
export function useJobImportFixture() {
  let testDatabase: TestDatabase;
  let database: Database;
  let services: ImportDeps;
  const organization = { agent: "", rival: "", contractor: "", other: "" };
  const notified: string[][] = [];
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = await openDatabase({ url: testDatabase.url, poolSize: 4, entities });
    const organizations = new OrganizationService({ database });
    services = {
      database,
      referenceData: createJobReferenceData(database),
      organizations,
      notifyWorkers: () => undefined,
      notifySubscribers: (ids) => void notified.push(ids.toSorted()),
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
  const importFile = (
    file: string | Uint8Array,
    options?: FixtureOptions,
    format?: FileFormat,
  ): Promise<ImportFixtureResult> => importInto(services, file, options, format);
  return {
    database: () => database,
    services: () => services,
    /** UUIDs of the organisations, set before the tests run. */
    organization,
    /** The sorted organisation IDs of each notifySubscribers call. */
    notified,
    importFile,
    /** String rows are written unchanged, others as JSON. */
    importNdjson: (rows: readonly unknown[], options?: Partial<ImportRequest>) =>
      importFile(
        rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n"),
        options,
        "ndjson",
      ),
    /** Creates a job of the agent and returns its Marking Number. */
    makeJob: async (patch: JobPatch = {}, rest: Partial<JobUpsert> = {}): Promise<string> => {
      const markingNumber = newMarkingNumber();
      const upsert = { markingNumber, agentId: organization.agent, patch, ...rest };
      await database.transaction((tx) => upsertRows(tx, [upsert], context));
      return markingNumber;
    },
    readJob: async (markingNumber: string): Promise<Record<string, unknown>> => {
      const [job] = await database.query<Record<string, unknown>>(
        sql`select * from job where marking_number = ${markingNumber}`,
      );
      return job ?? {};
    },
  };
}

async function importInto(
  services: ImportDeps,
  file: string | Uint8Array,
  { dates, ...options }: FixtureOptions = defaultAgent,
  format: FileFormat = "csv",
): Promise<ImportFixtureResult> {
  const result: ImportFixtureResult = {
    counts: { created: 0, updated: 0, unchanged: 0, failed: 0 },
    failures: [],
    chunks: 0,
  };
  const rows = readRows(streamBytes(file), { format, dates });
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
