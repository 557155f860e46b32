/** `updated_at` and the version of a job: guarantees for clients that poll by time. concurrency.test.ts has those of concurrent updates. */
import { describe, expect, it } from "vitest";
import { upsertRows } from "../../src/jobs/update/upsert.sql.ts";
import { systemActor } from "../../src/core/principal.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { getJob, historyOf, listAllPages, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app } = useSharedApp();

const context = { actor: systemActor, requestId: null };

/** `occurred_at` of each change of a job, in order of `sequence`. */
const timesOf = async (agent: TestOrganization, number: string): Promise<string[]> =>
  (await historyOf(app, agent, number)).map((change) => change.occurred_at);

/** The distinct times, sorted: equal to the times themselves only if these strictly increase. */
const strictlyRising = (times: readonly string[]): string[] => [...new Set(times)].toSorted();

/** Creates six jobs and returns them in order of `updated_at`. */
async function newJobs(agent: TestOrganization): Promise<string[]> {
  await app.createJobs(agent, 6);
  return await listAllPages(app, agent, "sort=updated_at");
}

function touch(agent: TestOrganization, number: string): Promise<unknown> {
  return patchJob(app, agent, number, { labels: `touched ${performance.now()}` });
}

async function updatedAtOf(agent: TestOrganization, number: string): Promise<string> {
  return expectData(await getJob(app, agent, number)).updated_at as string;
}

describe("updated_at increases with each version of a job", () => {
  it("for an import whose transaction began before another update of the same job", async () => {
    const agent = await app.createOrganization("agent");
    const [number = "", other = ""] = await app.createJobs(agent, [{}, {}]);
    const row = { agentId: agent.id, patch: { labels: "imported" } };
    const patched = await app.database.transaction(async (tx) => {
      await upsertRows(tx, [{ ...row, markingNumber: other }], context);
      const response = expectData(await patchJob(app, agent, number, { weight: 1 }));
      await upsertRows(tx, [{ ...row, markingNumber: number }], context);
      return response.updated_at as string;
    });
    expect(strictlyRising([patched, await updatedAtOf(agent, number)])[0]).toBe(patched);
    const times = await timesOf(agent, number);
    expect(times).toHaveLength(3);
    expect(times).toEqual(strictlyRising(times));
  });

  it("for one transaction that creates, assigns and changes a job", async () => {
    const [agent, contractor] = [
      await app.createOrganization("agent"),
      await app.createOrganization("contractor"),
    ];
    const number = await app.createJob(agent, { contractor });
    const times = await timesOf(agent, number);
    expect(times).toHaveLength(2);
    expect(times).toEqual(strictlyRising(times));
    const job = expectData(await getJob(app, agent, number));
    expect([job.created_at, job.updated_at]).toEqual(times);
  });

  it("after PostgreSQL's clock was set back", async () => {
    const agent = await app.createOrganization("agent");
    const number = await app.createJob(agent);
    await app.database.query(
      sql`update job set updated_at = '2099-01-01T00:00:00.123Z' where marking_number = ${number}`,
    );
    expect(expectData(await patchJob(app, agent, number, { weight: 1 })).updated_at).toBe(
      "2099-01-01T00:00:00.124Z",
    );
  });
});

it("a job that is created late in a transaction has its own creation time, not the start time of the transaction", async () => {
  const agent = await app.createOrganization("agent");
  const [first = "", second = ""] = await app.createJobs(agent, [{}, {}]);
  const number = `${first}-created`;
  const patched = await app.database.transaction(async (tx) => {
    await upsertRows(tx, [{ markingNumber: second, agentId: agent.id, patch: { weight: 2 } }], context);
    const response = expectData(await patchJob(app, agent, first, { weight: 1 }));
    await upsertRows(tx, [{ markingNumber: number, agentId: agent.id, patch: {} }], context);
    return response.updated_at as string;
  });
  const job = expectData(await getJob(app, agent, number));
  expect(job.created_at >= patched).toBe(true);
  expect(job.updated_at).toBe(job.created_at);
});

it("polling by updated_since finds a change that was committed late if consecutive polls overlap by 60 seconds", async () => {
  const agent = await app.createOrganization("agent");
  const [late = "", early = ""] = await app.createJobs(agent, [{}, {}]);
  const newest = await app.database.transaction(async (tx) => {
    await upsertRows(tx, [{ markingNumber: late, agentId: agent.id, patch: { weight: 1 } }], context);
    return expectData(await patchJob(app, agent, early, { weight: 1 })).updated_at as string;
  });
  const sinceNewest = await listAllPages(app, agent, `sort=updated_at&updated_since=${newest}`);
  expect(sinceNewest).toEqual([early]);
  const overlapping = new Date(Date.parse(newest) - 60_000).toISOString();
  expect(await listAllPages(app, agent, `sort=updated_at&updated_since=${overlapping}`)).toEqual([
    late,
    early,
  ]);
});

/** Other orders: test/service/jobs/list.test.ts. */
it("paging by updated_at while jobs change returns a changed job again and skips none", async () => {
  const agent = await app.createOrganization("agent");
  const numbers = await newJobs(agent);
  let touched = false;
  const met = await listAllPages(app, agent, "sort=updated_at&page_size=2", async () => {
    // One job of the first page and one of a later page.
    if (!touched) for (const index of [0, 4]) await touch(agent, numbers[index] as string);
    touched = true;
  });
  expect(new Set(met)).toEqual(new Set(numbers));
  expect(met.filter((number) => number === numbers[0])).toHaveLength(2);
});
