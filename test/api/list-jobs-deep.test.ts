/** Pages of GET /v1/jobs far down the list, found with the help of the daily counters. */
import { beforeAll, describe, expect, it } from "vitest";
import { compactCounters, rebuildCounters } from "../../src/jobs/counters/counters.sql.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const JOBS = 700;
const PAGE_SIZE = 70;

const { app, agent, contractor } = useSharedApp();

beforeAll(async () => {
  await app.createJobs(
    agent,
    Array.from({ length: JOBS - 100 }, (_, index) => (index % 3 === 0 ? {} : { contractor })),
  );
  // Over eleven days, some just before and after midnight, several jobs at the same time.
  await app.database.query(sql`
    update job set created_at = date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'
      - (n % 11) * interval '1 day' + (n % 5 - 2) * interval '1 millisecond'
    from (select id, row_number() over (order by id)::int as n from job where agent_id = ${agent.id}) numbered where numbered.id = job.id`);
  await app.database.transaction(rebuildCounters);
  // And some whose counter changes are not compacted yet.
  await app.createJobs(
    agent,
    Array.from({ length: 100 }, () => ({ contractor })),
  );
});

async function everyPage(partner: TestOrganization, sort: string): Promise<string[]> {
  const numbers: string[] = [];
  for (let page = 1; ; page += 1) {
    const path = `/v1/jobs?page_size=${PAGE_SIZE}&page=${page}&sort=${sort}`;
    const { items, pagination } = expectData(await app.call(path, { key: partner.key }));
    expect(pagination.total).toBe((await inOrder(partner, sort)).length);
    if (items.length === 0) return numbers;
    numbers.push(...items.map((job: { marking_number: string }) => job.marking_number));
  }
}

async function inOrder(partner: TestOrganization, sort: string): Promise<string[]> {
  const rows = await app.database.query<{ marking_number: string; created_at: string; id: string }>(
    sql`select marking_number, created_at, id from job where ${partner.id} in (agent_id, contractor_id)
      order by created_at, id`,
  );
  const numbers = rows.map((row) => row.marking_number);
  return sort.startsWith("-") ? numbers.toReversed() : numbers;
}

describe("every page down to the last has the right jobs", () => {
  it.each(["-created_at", "created_at"])("for the agent and the contractor, sorted by %s", async (sort) => {
    for (const partner of [agent, contractor])
      expect(await everyPage(partner, sort)).toEqual(await inOrder(partner, sort));
  });

  it("also once the counters are compacted and after jobs were reassigned", async () => {
    const other = await app.createOrganization("contractor");
    const numbers = await inOrder(contractor, "created_at");
    await app.createJobs(
      agent,
      numbers.slice(50, 350).map((markingNumber) => ({ markingNumber, contractor: other })),
    );
    expect(await everyPage(contractor, "-created_at")).toEqual(await inOrder(contractor, "-created_at"));
    await eventually(async () => {
      // Does nothing while the app's own task compacts.
      await compactCounters(app.database);
      const deltas = sql`select from job_counter_delta where organization_id = ${contractor.id}`;
      expect(await app.database.query(deltas)).toEqual([]);
    });
    expect(await everyPage(contractor, "-created_at")).toEqual(await inOrder(contractor, "-created_at"));
    expect(await everyPage(other, "-created_at")).toEqual(await inOrder(other, "-created_at"));
  });
});
