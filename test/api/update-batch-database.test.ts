import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { getJob, patchBatch } from "../support/app/job-client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await startTestApp({ WAYMARK_ROLE: "api" });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

const text = (max: number): string => `"${String.raw`\ud83d\udce6`.repeat(max)}"`;

describe("an item that the database rejects", () => {
  const rejected = {
    success: false,
    error_code: expect.any(String),
    error: expect.any(String),
    error_details: null,
  };

  beforeAll(async () => {
    await app.database.query(sql`alter table job add constraint no_feathers check (labels <> 'feathers')`);
    await app.database.query(sql`create function no_lead() returns trigger language plpgsql as $$
      begin
        if new.labels = 'lead' then raise exception 'no lead, %', new.recipient_name; end if;
        return new;
      end $$`);
    await app.database.query(
      sql`create trigger no_lead before update on job for each row execute function no_lead()`,
    );
  });

  it.each(["feathers", "lead"])("fails alone: %s", async (labels) => {
    const numbers = await app.createJobs(
      agent,
      Array.from({ length: 5 }, () => ({ patch: { recipient_name: "Secret Name" } })),
    );
    const items = numbers.map((marking_number, index) => ({
      marking_number,
      weight: index,
      labels: index === 2 ? labels : "wool",
    }));
    const response = await patchBatch(app, agent, items);
    const { updated_count, failed_count, results } = expectData(response);
    expect({ updated_count, failed_count }).toEqual({ updated_count: 4, failed_count: 1 });
    expect(results[2]).toEqual({ marking_number: numbers[2], ...rejected });
    expect(JSON.stringify(results[2])).not.toContain("Secret Name");
    for (const [index, number] of numbers.entries()) {
      expect(expectData(await getJob(app, agent, number)).weight).toBe(index === 2 ? null : index);
    }
  });

  it("fails alone in a dry run too, and nothing changes", async () => {
    const numbers = await app.createJobs(agent, [{}, {}, {}]);
    const items = numbers.map((marking_number, index) => ({
      marking_number,
      labels: index === 1 ? "lead" : "wool",
    }));
    const { updated_count, results } = expectData(
      await patchBatch(app, { ...agent, query: "dry_run=true" }, items),
    );
    expect(updated_count).toBe(2);
    expect(results[1]).toEqual({ marking_number: numbers[1], ...rejected });
    for (const number of numbers) expect((await getJob(app, agent, number)).headers.get("etag")).toBe('"1"');
  });

  it("never deadlocks with a concurrent batch, with dry runs and Idempotency-Keys", async () => {
    const numbers = await app.createJobs(agent, 8);
    for (let round = 0; round < 8; round += 1) {
      const items = numbers.map((marking_number, index) => ({
        marking_number,
        weight: round,
        labels: index === 3 ? "lead" : `wool ${round}`,
      }));
      const responses = await Promise.all([
        patchBatch(app, { ...agent, query: "dry_run=true" }, items),
        patchBatch(app, { ...agent, query: "dry_run=true" }, items.toReversed()),
        patchBatch(app, agent, items.toReversed()),
        patchBatch(app, { ...agent, headers: { "idempotency-key": `lead-${round}` } }, items),
      ]);
      for (const response of responses) expect(expectData(response).failed_count).toBe(1);
    }
  });
});

it("a batch may have 100 jobs with all texts at maximum length, escaped", async () => {
  const longNumbers = Array.from(
    { length: 100 },
    (_, index) => "📦".repeat(117) + String(index).padStart(3, "0"),
  );
  await app.createJobs(
    agent,
    longNumbers.map((markingNumber) => ({ markingNumber })),
  );
  const fields = `"batch_number":${text(120)},"group_code":${text(120)},"labels":${text(255)},"recipient_name":${text(255)},
    "recipient_contact":${text(255)},"delivery_address":${text(1000)},"postal_code":${text(60)},
    "instructions":${text(1000)},"failure_reason":${text(64)}`;
  const items = longNumbers.map(
    (number) => `{"marking_number":"${number.replaceAll("📦", String.raw`\ud83d\udce6`)}",${fields}}`,
  );
  const body = `{"jobs":[${items.join(",")}]}`;
  expect(body.length).toBeGreaterThan(3_900_000);
  const data = expectData(await app.call("/v1/jobs/batch", { key: agent.key, method: "PATCH", body }));
  expect(data).toMatchObject({ updated_count: 100, failed_count: 0 });
  expect(data.results[99].job.delivery_address).toBe("📦".repeat(1000));
});
