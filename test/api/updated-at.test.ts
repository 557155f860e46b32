/** `updated_at` and the version of a job: guarantees for clients that poll by time. */
import { beforeAll, describe, expect, it } from "vitest";
import { upsertRows } from "../../src/jobs/update/upsert.sql.ts";
import { systemActor } from "../../src/core/principal.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import {
  getJob,
  jobPath,
  listJobs,
  markingNumbersOf,
  patchJob,
  listAllPages,
} from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});

const context = { actor: systemActor, requestId: null };
const range = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

/** `occurred_at` of each change of a job, in order of `sequence`. */
async function timesOf(agent: TestOrganization, number: string): Promise<string[]> {
  const response = await app.call(`${jobPath(number)}/history?page_size=100`, { key: agent.key });
  const items = expectData(response).items as { sequence: number; occurred_at: string }[];
  expect(items.map(({ sequence }) => sequence)).toEqual(range(items.length).toReversed());
  return items.map((item) => item.occurred_at).toReversed();
}

/** The distinct times, sorted: equal to the times themselves only if these strictly increase. */
const strictlyRising = (times: readonly string[]): string[] => [...new Set(times)].toSorted();

/** Creates six jobs and returns them in order of `updated_at`. */
async function newJobs(agent: TestOrganization): Promise<string[]> {
  await app.createJobs(
    agent,
    range(6).map(() => ({})),
  );
  return await listAllPages(app, agent, "sort=updated_at");
}

function touch(agent: TestOrganization, number: string): Promise<unknown> {
  return patchJob(app, agent, number, { labels: `touched ${performance.now()}` });
}

async function updatedAtOf(agent: TestOrganization, number: string): Promise<string> {
  return expectData(await getJob(app, agent, number)).updated_at as string;
}

describe("updated_at increases with each version of a job", () => {
  it("for 50 concurrent updates", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    const responses = await Promise.all(range(50).map((weight) => patchJob(app, agent, number, { weight })));
    const byVersion = responses
      .map((response) => [
        Number(response.headers.get("etag")?.slice(1, -1)),
        expectData(response).updated_at,
      ])
      .toSorted(([one], [other]) => Number(one) - Number(other));
    expect(byVersion.map(([version]) => version)).toEqual(range(50).map((index) => index + 1));
    const times = byVersion.map(([, time]) => time as string);
    expect(times).toEqual(strictlyRising(times));
    // The event of a version has the same time as the version.
    expect((await timesOf(agent, number)).slice(1)).toEqual(times);
  });

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
    const [number = ""] = await app.createJobs(agent, [{ contractor }]);
    const times = await timesOf(agent, number);
    expect(times).toHaveLength(2);
    expect(times).toEqual(strictlyRising(times));
    const job = expectData(await getJob(app, agent, number));
    expect([job.created_at, job.updated_at]).toEqual(times);
  });

  it("after PostgreSQL's clock was set back", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    await app.database.query(
      sql`update job set updated_at = '2099-01-01T00:00:00.123Z' where marking_number = ${number}`,
    );
    expect(expectData(await patchJob(app, agent, number, { weight: 1 })).updated_at).toBe(
      "2099-01-01T00:00:00.124Z",
    );
  });
});

describe("a job that is created late in a transaction", () => {
  it("has its own creation time, not the start time of the transaction", async () => {
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
});

describe("polling by updated_since", () => {
  it("finds a change that was committed late if consecutive polls overlap by 60 seconds", async () => {
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
});

describe("paging while jobs change", () => {
  it.each(["created_at", "-created_at"])("by %s returns each job exactly once", async (sort) => {
    const agent = await app.createOrganization("agent");
    const numbers = await newJobs(agent);
    const met = await listAllPages(app, agent, `sort=${sort}&page_size=2`, async () => {
      for (const number of numbers) await touch(agent, number);
    });
    expect(met.toSorted()).toEqual(numbers.toSorted());
  });

  it("by updated_at returns a changed job again and skips none", async () => {
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

  it("by -updated_at skips a job that changes before its page is read; the first page, read again, has it", async () => {
    const agent = await app.createOrganization("agent");
    const numbers = await newJobs(agent);
    await touch(agent, numbers[1] as string);
    const oldest = (await listAllPages(app, agent, "sort=updated_at")).at(0) as string;
    let touched = false;
    const met = await listAllPages(app, agent, "sort=-updated_at&page_size=2", async () => {
      if (!touched) await touch(agent, oldest);
      touched = true;
    });
    expect(met).not.toContain(oldest);
    expect(markingNumbersOf(await listJobs(app, agent, "sort=-updated_at&page_size=2"))[0]).toBe(oldest);
  });
});
