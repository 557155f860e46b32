import { beforeAll, expect, it } from "vitest";
import { JobService } from "../../../src/jobs/service.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { lockJobRow } from "../../support/database/blocked-sessions.ts";
import { context, countsOf, useJobImportFixture } from "../../support/jobs/import.fixture.ts";

const { database, services, organization, importFile } = useJobImportFixture();

beforeAll(async () => {
  // A trigger as an operator could add it: rejects the label "lead", and waits for the job "gate" on the label "slow".
  await database().query(sql`create function rule() returns trigger language plpgsql as $$
    begin
      if new.labels = 'lead' then raise exception 'no lead'; end if;
      if new.labels = 'slow' then perform 1 from job where marking_number = 'gate' for share; end if;
      return new;
    end $$`);
  await database().query(sql`create trigger rule before update on job for each row execute function rule()`);
});

const importLabels = (...lines: string[]) => importFile(["marking_number,labels", ...lines, ""].join("\n"));

it("an import with a rejected row does not deadlock with a batch of the same jobs", async () => {
  // Created in this order, so that the first half of the import's rows has the highest id.
  for (const number of ["gate", "c", "b", "a"]) await importLabels(`${number},wool`);
  const gate = await lockJobRow(database(), "gate");
  const imported = importLabels("a,slow", "b,tin", "c,lead");
  await gate.waitForBlockedSessions(1);
  const principal = {
    organizationId: organization.agent,
    organizationType: "agent",
    actor: systemActor,
  } as const;
  const items = ["a", "b"].map((markingNumber) => ({ markingNumber, body: { weight: 1 } }));
  const updated = new JobService(services()).updateBatch(principal, items, { ...context, dryRun: false });
  await gate.waitForBlockedSessions(2);
  await gate.release();

  expect(countsOf(await imported)).toEqual([0, 2, 0, 1]);
  expect(
    (await updated).results.map((result) => "job" in result && [result.job.labels, result.job.weight]),
  ).toEqual([
    ["slow", 1],
    ["tin", 1],
  ]);
});
