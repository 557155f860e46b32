import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { purgeIdempotencyRecords } from "../../src/http/idempotency.ts";
import { sql } from "../../src/platform/sql.ts";
import { startInstance } from "../support/another-instance.ts";
import { expectData, expectFailure, expectProblems } from "../support/answers.ts";
import { getJob, jobPath, patchBatch, patchJob, type CallOptions } from "../support/job-calls.ts";
import { holdJob } from "../support/row-lock.ts";
import { startTestApp, type Answer, type Partner, type TestApp } from "../support/start-app.ts";

let app: TestApp;
let agent: Partner;

beforeAll(async () => {
  app = await startTestApp();
  agent = await app.partner("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

const key = (text: string): CallOptions => ({ headers: { "idempotency-key": text } });

async function newJob(): Promise<string> {
  const [number] = await app.jobs(agent, [{}]);
  return number as string;
}

/** The answer again, except that it has a request_id of its own. */
function expectReplay(repeat: Answer, first: Answer): void {
  expect(repeat.headers.get("idempotency-replayed")).toBe("true");
  expect({ ...repeat.body, request_id: "" }).toEqual({ ...first.body, request_id: "" });
  expect(repeat.body.request_id).not.toBe(first.body.request_id);
  expect(repeat.status).toBe(first.status);
  for (const name of ["etag", "x-ignored-fields", "content-type"]) expect(repeat.headers.get(name)).toBe(first.headers.get(name));
}

describe("Idempotency-Key", () => {
  it("200 again as before for a repeat, which changes nothing", async () => {
    const number = await newJob();
    const first = await patchJob(app, agent, number, { weight: 1, colour: 2 }, key("one"));
    expect(first.headers.has("idempotency-replayed")).toBe(false);
    expectData(await patchJob(app, agent, number, { weight: 5 }));
    expectReplay(await patchJob(app, agent, number, { weight: 1, colour: 2 }, key("one")), first);
    expect(expectData(await getJob(app, agent, number)).weight).toBe(5);
  });

  it("200 again for a batch, its failed items included, fields in the same order", async () => {
    const number = await newJob();
    const items = [
      { marking_number: number, weight: 1 },
      { marking_number: "NO-SUCH-JOB", weight: 1 },
      { marking_number: number, weight: "1" },
    ];
    const first = await patchBatch(app, agent, items, key("batch"));
    const repeat = await patchBatch(app, agent, items, key("batch"));
    expectReplay(repeat, first);
    expect(JSON.stringify(repeat.body.data)).toBe(JSON.stringify(first.body.data));
  });

  it("404, 400 and 412 again too", async () => {
    const number = await newJob();
    const none = await patchJob(app, agent, "NO-SUCH-JOB", { weight: 1 }, key("404"));
    expectFailure(none, 404);
    await app.jobs(agent, [{ markingNumber: "NO-SUCH-JOB" }]);
    expectReplay(await patchJob(app, agent, "NO-SUCH-JOB", { weight: 1 }, key("404")), none);

    const wrong = await patchJob(app, agent, number, { weight: "1" }, key("400"));
    expectProblems(wrong, "body", ["weight"]);
    expectReplay(await patchJob(app, agent, number, { weight: "1" }, key("400")), wrong);

    const options = { headers: { "idempotency-key": "412", "if-match": '"9"' } };
    const failed = await patchJob(app, agent, number, { weight: 1 }, options);
    expectFailure(failed, 412);
    expectReplay(await patchJob(app, agent, number, { weight: 1 }, options), failed);
  });

  it("is one of a route: the other PATCH may have the same", async () => {
    const number = await newJob();
    expectData(await patchJob(app, agent, number, { weight: 1 }, key("shared")));
    const batch = await patchBatch(app, agent, [{ marking_number: number, weight: 2 }], key("shared"));
    expect(expectData(batch).updated_count).toBe(1);
    expect(batch.headers.has("idempotency-replayed")).toBe(false);
  });

  it("is one of an organisation: another's same key is independent, its other API key is not", async () => {
    const number = await newJob();
    const first = await patchJob(app, agent, number, { weight: 1 }, key("mine"));
    const other = await app.partner("agent");
    expectFailure(await patchJob(app, other, number, { weight: 1 }, key("mine")), 404);
    const second = await app.keys.create({ organizationId: agent.id, name: "second", createdBy: "test" });
    expectReplay(await patchJob(app, { key: second.text }, number, { weight: 1 }, key("mine")), first);
  });

  it("is good in every process", async () => {
    const number = await newJob();
    const first = await patchJob(app, agent, number, { weight: 1 }, key("processes"));
    await using other = await startInstance(app.databaseUrl);
    expectReplay(await patchJob(other, agent, number, { weight: 1 }, key("processes")), first);
  });

  it("means nothing to a read", async () => {
    const answer = await app.call(jobPath(await newJob()), { key: agent.key, headers: { "idempotency-key": "read" } });
    expectData(answer);
  });

  it("takes a body that is nested deeply", async () => {
    const deep = `{"weight":1,"x":${"[".repeat(30_000)}${"]".repeat(30_000)}}`;
    const number = await newJob();
    const first = await patchJob(app, agent, number, deep, key("deep"));
    expectData(first);
    expectReplay(await patchJob(app, agent, number, deep, key("deep")), first);
  });

  it.each(["", " ", "two words", "x".repeat(256), "é", "tab\tbed"])("400 when it is malformed: %j", async (text) => {
    const number = await newJob();
    expectProblems(await patchJob(app, agent, number, { weight: 1 }, key(text)), "header", ["Idempotency-Key"]);
    expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
  });

  it("takes 255 visible characters", async () => {
    expectData(await patchJob(app, agent, await newJob(), { weight: 1 }, key("!~".repeat(127) + "x")));
  });

  describe("422 when it is used again with another request", () => {
    it("with another body, another Marking Number or another query", async () => {
      const number = await newJob();
      expectData(await patchJob(app, agent, number, { weight: 1 }, key("422")));
      expectFailure(await patchJob(app, agent, number, { weight: 2 }, key("422")), 422);
      expectFailure(await patchJob(app, agent, await newJob(), { weight: 1 }, key("422")), 422);
      expectFailure(await patchJob(app, agent, number, { weight: 1 }, { ...key("422"), query: "dry_run=true" }), 422);
      expect(expectData(await getJob(app, agent, number)).weight).toBe(1);
    });

    it("also after a failure that is kept", async () => {
      expectFailure(await patchJob(app, agent, "NO-SUCH-ONE", { weight: 1 }, key("422-404")), 404);
      expectFailure(await patchJob(app, agent, "NO-SUCH-ONE", { weight: 2 }, key("422-404")), 422);
    });
  });

  describe("409 while the first request is still being answered", () => {
    it("in whatever process, and the answer afterwards", async () => {
      const number = await newJob();
      await using other = await startInstance(app.databaseUrl);
      const held = await holdJob(app.databaseUrl, number);
      const first = patchJob(app, agent, number, { weight: 1 }, key("flight"));
      await held.untilSomeoneWaits();
      for (const api of [app, other]) {
        expectFailure(await patchJob(api, agent, number, { weight: 1 }, key("flight")), 409);
        expectFailure(await patchJob(api, agent, number, { weight: 2 }, key("flight")), 422);
      }
      await held.release();
      expectData(await first);
      expectReplay(await patchJob(other, agent, number, { weight: 1 }, key("flight")), await first);
    });

    it("one of many at once is done, the others are told so or get its answer", async () => {
      const number = await newJob();
      const answers = await Promise.all(Array.from({ length: 12 }, () => patchJob(app, agent, number, { weight: 3 }, key("many"))));
      const done = answers.filter((answer) => answer.status === 200);
      expect(done.filter((answer) => !answer.headers.has("idempotency-replayed"))).toHaveLength(1);
      for (const answer of answers.filter((one) => one.status !== 200)) expectFailure(answer, 409);
    });
  });

  describe("is free again", () => {
    const setRecord = (text: string, column: "expires_at" | "locked_until"): Promise<unknown[]> =>
      column === "expires_at"
        ? app.database.query(sql`update idempotency_record set expires_at = now() - interval '1 ms' where key = ${text}`)
        : app.database.query(sql`update idempotency_record set answer = null, locked_until = now() - interval '1 ms' where key = ${text}`);

    it("after 24 hours, for another body too", async () => {
      const number = await newJob();
      expectData(await patchJob(app, agent, number, { weight: 1 }, key("day")));
      const [row] = await app.database.query<{ hours: number }>(sql`
        select round(extract(epoch from expires_at - now()) / 360)::int / 10.0 as hours from idempotency_record where key = 'day'`);
      expect(Number(row?.hours)).toBe(24);
      await setRecord("day", "expires_at");
      const later = await patchJob(app, agent, number, { weight: 2 }, key("day"));
      expect(expectData(later).weight).toBe(2);
      expect(later.headers.has("idempotency-replayed")).toBe(false);
      expectReplay(await patchJob(app, agent, number, { weight: 2 }, key("day")), later);
    });

    it("when the process that was at it has died: the same request runs, another is 422", async () => {
      const number = await newJob();
      expectData(await patchJob(app, agent, number, { weight: 1 }, key("died")));
      await setRecord("died", "locked_until");
      expectFailure(await patchJob(app, agent, number, { weight: 2 }, key("died")), 422);
      const again = await patchJob(app, agent, number, { weight: 1 }, key("died"));
      expectData(again);
      expect(again.headers.has("idempotency-replayed")).toBe(false);
      expectReplay(await patchJob(app, agent, number, { weight: 1 }, key("died")), again);
    });

    it("when the request failed on our side, so that a repeat is tried and not told so again", async () => {
      const number = await newJob();
      await app.database.query(sql`alter table job add constraint no_gold check (labels <> 'gold')`);
      expectFailure(await patchJob(app, agent, number, { labels: "gold" }, key("500")), 500);
      await app.database.query(sql`alter table job drop constraint no_gold`);
      expect(expectData(await patchJob(app, agent, number, { labels: "gold" }, key("500"))).labels).toBe("gold");
    });

    it("and its record is thrown away after that day", async () => {
      expectData(await patchJob(app, agent, await newJob(), { weight: 1 }, key("purged")));
      await setRecord("purged", "expires_at");
      const count = async (): Promise<unknown[]> => app.database.query(sql`select key from idempotency_record where key = 'purged'`);
      expect(await count()).toHaveLength(1);
      expect(await purgeIdempotencyRecords(app.database, 1000)).toBeGreaterThan(0);
      expect(await count()).toHaveLength(0);
      await vi.waitFor(async () => expect(await purgeIdempotencyRecords(app.database, 1)).toBe(0));
    });
  });
});
