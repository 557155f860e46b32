import fc from "fast-check";
import { expect, it } from "vitest";
import { compactCounters, rebuildCounters } from "../../src/jobs/counters/counters.sql.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { listJobs, patchBatch, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const STATUSES = ["pending", "completed", "failed"] as const;

const { app } = useSharedApp();

async function totals(viewer: TestOrganization): Promise<number[]> {
  const queries = ["", ...STATUSES.map((status) => `normalized_status=${status}`)];
  const responses = await Promise.all(queries.map((query) => listJobs(app, viewer, `page_size=1&${query}`)));
  return responses.map((response) => expectData(response).pagination.total as number);
}

async function counted(viewer: TestOrganization): Promise<number[]> {
  const rows = await app.database.query<{ status: string; count: number }>(sql`
    select normalized_status as status, count(*)::int as count from job
    where agent_id = ${viewer.id} or contractor_id = ${viewer.id} group by 1`);
  const ofStatus = (status: string): number => rows.find((row) => row.status === status)?.count ?? 0;
  return [rows.reduce((sum, row) => sum + row.count, 0), ...STATUSES.map(ofStatus)];
}

const place = fc.nat({ max: 5 });
const status = fc.constantFrom(...STATUSES);
const step = fc.oneof(
  fc.record({ kind: fc.constant("create" as const), status, contractor: fc.option(fc.nat({ max: 1 })) }),
  fc.record({ kind: fc.constant("assign" as const), place, contractor: fc.nat({ max: 1 }) }),
  fc.record({ kind: fc.constant("patch" as const), place, status }),
  fc.record({
    kind: fc.constant("batch" as const),
    places: fc.array(place, { minLength: 1, maxLength: 4 }),
    status,
  }),
  fc.record({ kind: fc.constant("fold" as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

it("pagination.total is exact after creations, updates, assignments and compactions in any order", async () => {
  const organizationIds: string[] = [];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const agent = await app.createOrganization("agent");
      const contractors = [
        await app.createOrganization("contractor"),
        await app.createOrganization("contractor"),
      ];
      const numbers: string[] = [];
      organizationIds.push(...[agent, ...contractors].map(({ id }) => id));
      for (const one of steps) await apply(one, agent, contractors, numbers);
      for (const viewer of [agent, ...contractors])
        expect(await totals(viewer)).toEqual(await counted(viewer));
    }),
    { numRuns: 15 },
  );
  await expectRecountToChangeNothing(organizationIds);
});

it("pagination.total stays constant while jobs change status", async () => {
  const agent = await app.createOrganization("agent");
  const numbers = await app.createJobs(agent, 10);
  const writing = (async () => {
    for (let round = 0; round < 30; round += 1) {
      const normalized_status = STATUSES[round % STATUSES.length];
      expectData(
        await patchBatch(
          app,
          agent,
          numbers.map((marking_number) => ({ marking_number, normalized_status })),
        ),
      );
    }
  })();
  const seen = new Set<number>();
  let done = false;
  void writing.finally(() => (done = true));
  while (!done) {
    seen.add(expectData(await listJobs(app, agent, "page_size=1")).pagination.total);
    await compactCounters(app.database);
  }
  await writing;
  expect([...seen]).toEqual([10]);
});

async function apply(
  one: Step,
  agent: TestOrganization,
  contractors: TestOrganization[],
  numbers: string[],
): Promise<void> {
  const numberAt = (index: number): string | undefined => numbers[index % Math.max(1, numbers.length)];
  if (one.kind === "create") {
    const contractor = one.contractor === null ? undefined : contractors[one.contractor];
    numbers.push(
      ...(await app.createJobs(agent, [
        { patch: { normalized_status: one.status }, ...(contractor && { contractor }) },
      ])),
    );
  } else if (one.kind === "fold") {
    await compactCounters(app.database);
  } else if (one.kind === "batch") {
    const jobs = one.places.map((index) => ({
      marking_number: numberAt(index) ?? "none",
      normalized_status: one.status,
    }));
    expectData(await patchBatch(app, agent, jobs));
  } else {
    const markingNumber = numberAt(one.place);
    if (markingNumber === undefined) return;
    if (one.kind === "assign")
      await app.createJobs(agent, [
        { markingNumber, contractor: contractors[one.contractor] as TestOrganization },
      ]);
    else expectData(await patchJob(app, agent, markingNumber, { normalized_status: one.status }));
  }
}

/** The counters equal a new count. */
async function expectRecountToChangeNothing(organizationIds: readonly string[]): Promise<void> {
  const counts = (): Promise<unknown[]> =>
    app.database.query(sql`
      select organization_id, kind, value, sum(counted)::int as count from (
        select organization_id, kind, value, count as counted from job_counter
        union all select organization_id, kind, value, change from job_counter_delta) counters
      where organization_id = any(${[...organizationIds]}::uuid[]) group by 1, 2, 3 having sum(counted) <> 0 order by 1, 2, 3`);
  await compactCounters(app.database);
  const folded = await counts();
  expect(folded.length).toBeGreaterThan(0);
  await app.database.transaction(rebuildCounters);
  expect(await counts()).toEqual(folded);
}
