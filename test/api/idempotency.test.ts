import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { purgeIdempotencyRecords } from "../../src/http/idempotency.ts";
import { sql } from "../../src/platform/sql.ts";
import { startInstance, type Answer } from "../support/instance.ts";
import { expectData, expectFailure, expectProblems } from "../support/answers.ts";
import { getJob, jobPath, patchBatch, patchJob, type CallOptions } from "../support/job-calls.ts";
import { holdJob } from "../support/row-lock.ts";
import { startTestApp, type Partner, type TestApp } from "../support/start-app.ts";

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
  for (const name of ["etag", "x-ignored-fields", "content-type"])
    expect(repeat.headers.get(name)).toBe(first.headers.get(name));
}

const setRecord = (text: string, column: "expires_at" | "locked_until"): Promise<unknown[]> =>
  column === "expires_at"
    ? app.database.query(
        sql`update idempotency_record set expires_at = now() - interval '1 ms' where key = ${text}`,
      )
    : app.database.query(
        sql`update idempotency_record set answer = null, locked_until = now() - interval '1 ms' where key = ${text}`,
      );

it("after 24 hours, for another body too", async () => {
  const number = await newJob();
  expectData(await patchJob(app, { ...agent, ...key("day") }, number, { weight: 1 }));
  const [row] = await app.database.query<{ hours: number }>(sql`
    select round(extract(epoch from expires_at - now()) / 360)::int / 10.0 as hours from idempotency_record where key = 'day'`);
  expect(Number(row?.hours)).toBe(24);
  await setRecord("day", "expires_at");
  const later = await patchJob(app, { ...agent, ...key("day") }, number, { weight: 2 });
  expect(expectData(later).weight).toBe(2);
  expect(later.headers.has("idempotency-replayed")).toBe(false);
  expectReplay(await patchJob(app, { ...agent, ...key("day") }, number, { weight: 2 }), later);
});

describe("Idempotency-Key", () => {
  it("200 again as before for a repeat, which changes nothing", async () => {
    const number = await newJob();
    const first = await patchJob(app, { ...agent, ...key("one") }, number, { weight: 1, colour: 2 });
    expect(first.headers.has("idempotency-replayed")).toBe(false);
    expectData(await patchJob(app, agent, number, { weight: 5 }));
    expectReplay(await patchJob(app, { ...agent, ...key("one") }, number, { weight: 1, colour: 2 }), first);
    expect(expectData(await getJob(app, agent, number)).weight).toBe(5);
  });

  it("200 again for a batch, its failed items included, fields in the same order", async () => {
    const number = await newJob();
    const items = [
      { marking_number: number, weight: 1 },
      { marking_number: "NO-SUCH-JOB", weight: 1 },
      { marking_number: number, weight: "1" },
    ];
    const first = await patchBatch(app, { ...agent, ...key("batch") }, items);
    const repeat = await patchBatch(app, { ...agent, ...key("batch") }, items);
    expectReplay(repeat, first);
    expect(JSON.stringify(repeat.body.data)).toBe(JSON.stringify(first.body.data));
  });

  it("404, 400 and 412 again too", async () => {
    const number = await newJob();
    const none = await patchJob(app, { ...agent, ...key("404") }, "NO-SUCH-JOB", { weight: 1 });
    expectFailure(none, 404);
    await app.jobs(agent, [{ markingNumber: "NO-SUCH-JOB" }]);
    expectReplay(await patchJob(app, { ...agent, ...key("404") }, "NO-SUCH-JOB", { weight: 1 }), none);

    const wrong = await patchJob(app, { ...agent, ...key("400") }, number, { weight: "1" });
    expectProblems(wrong, "body", ["weight"]);
    expectReplay(await patchJob(app, { ...agent, ...key("400") }, number, { weight: "1" }), wrong);

    const options = { headers: { "idempotency-key": "412", "if-match": '"9"' } };
    const failed = await patchJob(app, { ...agent, ...options }, number, { weight: 1 });
    expectFailure(failed, 412);
    expectReplay(await patchJob(app, { ...agent, ...options }, number, { weight: 1 }), failed);
  });

  it("is one of a route: the other PATCH may have the same", async () => {
    const number = await newJob();
    expectData(await patchJob(app, { ...agent, ...key("shared") }, number, { weight: 1 }));
    const batch = await patchBatch(app, { ...agent, ...key("shared") }, [
      { marking_number: number, weight: 2 },
    ]);
    expect(expectData(batch).updated_count).toBe(1);
    expect(batch.headers.has("idempotency-replayed")).toBe(false);
  });

  it("is one of an organisation: another's same key is independent, its other API key is not", async () => {
    const number = await newJob();
    const first = await patchJob(app, { ...agent, ...key("mine") }, number, { weight: 1 });
    const other = await app.partner("agent");
    expectFailure(await patchJob(app, { ...other, ...key("mine") }, number, { weight: 1 }), 404);
    const second = await app.keys.create({ organizationId: agent.id, name: "second", createdBy: "test" });
    expectReplay(await patchJob(app, { key: second.text, ...key("mine") }, number, { weight: 1 }), first);
  });

  it("is good in every process", async () => {
    const number = await newJob();
    const first = await patchJob(app, { ...agent, ...key("processes") }, number, { weight: 1 });
    await using other = await startInstance(app.databaseUrl);
    expectReplay(await patchJob(other, { ...agent, ...key("processes") }, number, { weight: 1 }), first);
  });

  it("means nothing to a read", async () => {
    const answer = await app.call(jobPath(await newJob()), {
      key: agent.key,
      headers: { "idempotency-key": "read" },
    });
    expectData(answer);
  });

  it("takes a body that is nested deeply", async () => {
    const deep = `{"weight":1,"x":${"[".repeat(30_000)}${"]".repeat(30_000)}}`;
    const number = await newJob();
    const first = await patchJob(app, { ...agent, ...key("deep") }, number, deep);
    expectData(first);
    expectReplay(await patchJob(app, { ...agent, ...key("deep") }, number, deep), first);
  });

  it.each(["", " ", "two words", "x".repeat(256), "é", "tab\tbed"])(
    "400 when it is malformed: %j",
    async (text) => {
      const number = await newJob();
      expectProblems(await patchJob(app, { ...agent, ...key(text) }, number, { weight: 1 }), "header", [
        "Idempotency-Key",
      ]);
      expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
    },
  );

  it("takes 255 visible characters", async () => {
    expectData(
      await patchJob(app, { ...agent, ...key("!~".repeat(127) + "x") }, await newJob(), { weight: 1 }),
    );
  });

  describe("422 when it is used again with another request", () => {
    it("with another body, another Marking Number or another query", async () => {
      const number = await newJob();
      expectData(await patchJob(app, { ...agent, ...key("422") }, number, { weight: 1 }));
      expectFailure(await patchJob(app, { ...agent, ...key("422") }, number, { weight: 2 }), 422);
      expectFailure(await patchJob(app, { ...agent, ...key("422") }, await newJob(), { weight: 1 }), 422);
      expectFailure(
        await patchJob(app, { ...agent, ...key("422"), query: "dry_run=true" }, number, { weight: 1 }),
        422,
      );
      expect(expectData(await getJob(app, agent, number)).weight).toBe(1);
    });

    it("also after a failure that is kept", async () => {
      expectFailure(await patchJob(app, { ...agent, ...key("422-404") }, "NO-SUCH-ONE", { weight: 1 }), 404);
      expectFailure(await patchJob(app, { ...agent, ...key("422-404") }, "NO-SUCH-ONE", { weight: 2 }), 422);
    });
  });

  describe("409 while the first request is still being answered", () => {
    it("in whatever process, and the answer afterwards", async () => {
      const number = await newJob();
      await using other = await startInstance(app.databaseUrl);
      const held = await holdJob(app.databaseUrl, number);
      const first = patchJob(app, { ...agent, ...key("flight") }, number, { weight: 1 });
      await held.untilSomeoneWaits();
      for (const api of [app, other]) {
        expectFailure(await patchJob(api, { ...agent, ...key("flight") }, number, { weight: 1 }), 409);
        expectFailure(await patchJob(api, { ...agent, ...key("flight") }, number, { weight: 2 }), 422);
      }
      await held.release();
      expectData(await first);
      expectReplay(await patchJob(other, { ...agent, ...key("flight") }, number, { weight: 1 }), await first);
    });

    it("one of many at once is done, the others are told so or get its answer", async () => {
      const number = await newJob();
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => patchJob(app, { ...agent, ...key("many") }, number, { weight: 3 })),
      );
      const done = answers.filter((answer) => answer.status === 200);
      expect(done.filter((answer) => !answer.headers.has("idempotency-replayed"))).toHaveLength(1);
      for (const answer of answers.filter((one) => one.status !== 200)) expectFailure(answer, 409);
    });
  });

  describe("is free again", () => {
    it("when the process that was at it has died: the same request runs, another is 422", async () => {
      const number = await newJob();
      expectData(await patchJob(app, { ...agent, ...key("died") }, number, { weight: 1 }));
      await setRecord("died", "locked_until");
      expectFailure(await patchJob(app, { ...agent, ...key("died") }, number, { weight: 2 }), 422);
      const again = await patchJob(app, { ...agent, ...key("died") }, number, { weight: 1 });
      expectData(again);
      expect(again.headers.has("idempotency-replayed")).toBe(false);
      expectReplay(await patchJob(app, { ...agent, ...key("died") }, number, { weight: 1 }), again);
    });

    it("where the clock of PostgreSQL was set back meanwhile", async () => {
      const number = await newJob();
      const caller = { ...agent, ...key("clock") };
      expectData(await patchJob(app, caller, number, { weight: 1 }));
      // To whoever looks an hour earlier, what is kept lies an hour ahead.
      await app.database.query(sql`
        update idempotency_record set answer = null, locked_until = now() + interval '61 minutes' where key = 'clock'`);
      expectData(await patchJob(app, caller, number, { weight: 1 }));
      await app.database.query(sql`
        update idempotency_record set answer = null, locked_until = now() + interval '1 minute' where key = 'clock'`);
      expectFailure(await patchJob(app, caller, number, { weight: 1 }), 409);
    });

    it("when the database was out of reach in the middle of it", async () => {
      const number = await newJob();
      const caller = { ...agent, ...key("503") };
      const held = await holdJob(app.databaseUrl, number);
      const first = patchJob(app, caller, number, { weight: 1 });
      await held.untilSomeoneWaits();
      await app.database.query(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
      expectFailure(await first, 503);
      await held.release();
      const again = await patchJob(app, caller, number, { weight: 1 });
      expect(expectData(again).weight).toBe(1);
      expect(again.headers.has("idempotency-replayed")).toBe(false);
    });

    it("when the request failed on our side, so that a repeat is tried and not told so again", async () => {
      const number = await newJob();
      await app.database.query(sql`alter table job add constraint no_gold check (labels <> 'gold')`);
      expectFailure(await patchJob(app, { ...agent, ...key("500") }, number, { labels: "gold" }), 500);
      await app.database.query(sql`alter table job drop constraint no_gold`);
      expect(
        expectData(await patchJob(app, { ...agent, ...key("500") }, number, { labels: "gold" })).labels,
      ).toBe("gold");
    });

    it("and its record is thrown away after that day", async () => {
      expectData(await patchJob(app, { ...agent, ...key("purged") }, await newJob(), { weight: 1 }));
      await setRecord("purged", "expires_at");
      const count = async (): Promise<unknown[]> =>
        app.database.query(sql`select key from idempotency_record where key = 'purged'`);
      expect(await count()).toHaveLength(1);
      expect(await purgeIdempotencyRecords(app.database, 1000)).toBeGreaterThan(0);
      expect(await count()).toHaveLength(0);
      await vi.waitFor(async () => expect(await purgeIdempotencyRecords(app.database, 1)).toBe(0));
    });
  });
});
