import { afterAll, beforeAll, expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { createJobReferenceData } from "../../../src/jobs/reference-data.ts";
import { importJobs, type ImportCounts } from "../../../src/jobs/import-export/import.ts";
import { readRows } from "../../../src/jobs/import-export/import-rows.ts";
import { JobService } from "../../../src/jobs/service.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { lockJobRow } from "../../support/database/blocked-sessions.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database/test-database.ts";

let testDatabase: TestDatabase;
let database: Database;
let agentId: string;
const context = { actor: systemActor, requestId: null, dryRun: false };
const ignore = (): void => undefined;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4, entities });
  agentId = (await new OrganizationService({ database }).create({ name: "Agent", type: "agent" })).id;
  // A trigger as an operator could add it: rejects the label "lead", and waits for the job "gate" on the label "slow".
  await database.query(sql`create function rule() returns trigger language plpgsql as $$
    begin
      if new.labels = 'lead' then raise exception 'no lead'; end if;
      if new.labels = 'slow' then perform 1 from job where marking_number = 'gate' for share; end if;
      return new;
    end $$`);
  await database.query(sql`create trigger rule before update on job for each row execute function rule()`);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

async function importCsv(...lines: string[]): Promise<ImportCounts | undefined> {
  const referenceData = createJobReferenceData(database);
  const organizations = new OrganizationService({ database });
  const bytes = (async function* () {
    yield await Promise.resolve(Buffer.from(["marking_number,labels", ...lines, ""].join("\n")));
  })();
  const rows = readRows(bytes, { format: "csv" });
  const reports = importJobs(
    { database, referenceData, organizations, notifyWorkers: ignore, notifySubscribers: ignore },
    rows,
    {
      ...context,
      agent: "Agent",
    },
  );
  for await (const { counts } of reports) return counts;
  return undefined;
}

it("an import with a rejected row does not deadlock with a batch of the same jobs", async () => {
  // Created in this order, so that the first half of the import's rows has the highest id.
  for (const number of ["gate", "c", "b", "a"]) await importCsv(`${number},wool`);
  const gate = await lockJobRow(database, "gate");
  const imported = importCsv("a,slow", "b,tin", "c,lead");
  await gate.waitForBlockedSessions(1);
  const jobs = new JobService({
    database,
    referenceData: createJobReferenceData(database),
    notifyWorkers: ignore,
    notifySubscribers: ignore,
  });
  const principal = { organizationId: agentId, organizationType: "agent", actor: systemActor } as const;
  const items = ["a", "b"].map((markingNumber) => ({ markingNumber, body: { weight: 1 } }));
  const updated = jobs.updateBatch(principal, items, context);
  await gate.waitForBlockedSessions(2);
  await gate.release();

  expect(await imported).toEqual({ created: 0, updated: 2, unchanged: 0, failed: 1 });
  expect(
    (await updated).results.map((result) => "job" in result && [result.job.labels, result.job.weight]),
  ).toEqual([
    ["slow", 1],
    ["tin", 1],
  ]);
});
