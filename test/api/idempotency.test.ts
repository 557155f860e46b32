import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { startAppInstance, type ApiResponse, type AppInstance } from "../support/app/app-instance.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import {
  getJob,
  patchBatch,
  patchJob,
  type ApiClient,
  type JobRequestOptions,
} from "../support/app/job-client.ts";
import { lockJobRow } from "../support/database/blocked-sessions.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent } = useSharedApp();
/** Another process, with two connections to PostgreSQL. */
let other: AppInstance;

beforeAll(async () => {
  other = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api", DATABASE_POOL_SIZE: "2" });
});
afterAll(() => other[Symbol.asyncDispose]());

const key = (text: string): JobRequestOptions => ({ headers: { "idempotency-key": text } });
const matching = (text: string, tag: string): JobRequestOptions => ({
  headers: { "idempotency-key": text, "if-match": tag },
});

/** PATCH of one job with an Idempotency-Key. */
const patchKeyed = (text: string, number: string, body: unknown, api: ApiClient = app) =>
  patchJob(api, { ...agent, ...key(text) }, number, body);
const patchMatching = (text: string, tag: string, number: string, body: object) =>
  patchJob(app, { ...agent, ...matching(text, tag) }, number, body);
const batchKeyed = (text: string, items: readonly object[]) =>
  patchBatch(app, { ...agent, ...key(text) }, items);

const newJob = (): Promise<string> => app.createJob(agent);

/** Asserts that the response is replayed, except for its request_id. */
function expectReplay(repeat: ApiResponse, first: ApiResponse): void {
  expect(repeat.headers.get("idempotency-replayed")).toBe("true");
  expect({ ...repeat.body, request_id: "" }).toEqual({ ...first.body, request_id: "" });
  expect(repeat.body.request_id).not.toBe(first.body.request_id);
  expect(repeat.status).toBe(first.status);
  for (const name of ["etag", "x-ignored-fields", "content-type"])
    expect(repeat.headers.get(name)).toBe(first.headers.get(name));
}

const expire = (text: string): Promise<unknown[]> =>
  app.database.query(
    sql`update idempotency_record set expires_at = now() - interval '1 ms' where organization_id = ${agent.id} and key = ${text}`,
  );

const stored = (text: string): Promise<unknown[]> =>
  app.database.query(
    sql`select from idempotency_record where organization_id = ${agent.id} and key = ${text}`,
  );

/** Runs `act` while new rows of the table must meet a condition. */
async function withConstraint<T>(table: string, condition: string, act: () => Promise<T>): Promise<T> {
  await app.database.query(
    raw(`alter table ${table} add constraint refused_by_test check (${condition}) not valid`),
  );
  try {
    return await act();
  } finally {
    await app.database.query(raw(`alter table ${table} drop constraint refused_by_test`));
  }
}

async function versionOf(number: string): Promise<string | null> {
  return (await getJob(app, agent, number)).headers.get("etag");
}

it("a key can be reused after 24 hours, also with another body", async () => {
  const number = await newJob();
  expectData(await patchKeyed("day", number, { weight: 1 }));
  const [row] = await app.database.query<{ hours: number }>(sql`
    select round(extract(epoch from expires_at - now()) / 360)::int / 10.0 as hours
    from idempotency_record where organization_id = ${agent.id} and key = 'day'`);
  expect(Number(row?.hours)).toBe(24);
  await expire("day");
  const later = await patchKeyed("day", number, { weight: 2 });
  expect(expectData(later).weight).toBe(2);
  expect(later.headers.has("idempotency-replayed")).toBe(false);
  expectReplay(await patchKeyed("day", number, { weight: 2 }), later);
});

it("replays the 200 for a repeated request and changes nothing", async () => {
  const number = await newJob();
  const first = await patchKeyed("one", number, { weight: 1, colour: 2 });
  expect(first.headers.has("idempotency-replayed")).toBe(false);
  expectData(await patchJob(app, agent, number, { weight: 5 }));
  expectReplay(await patchKeyed("one", number, { weight: 1, colour: 2 }), first);
  expect(expectData(await getJob(app, agent, number)).weight).toBe(5);
});

it("replays the 200 for a batch with its failed items, fields in the same order", async () => {
  const number = await newJob();
  const items = [
    { marking_number: number, weight: 1 },
    { marking_number: "NO-SUCH-JOB", weight: 1 },
    { marking_number: number, weight: "1" },
  ];
  const first = await batchKeyed("batch", items);
  const repeat = await batchKeyed("batch", items);
  expectReplay(repeat, first);
  expect(JSON.stringify(repeat.body.data)).toBe(JSON.stringify(first.body.data));
});

it("is scoped to a route: the other PATCH can use the same key", async () => {
  const number = await newJob();
  expectData(await patchKeyed("shared", number, { weight: 1 }));
  const batch = await batchKeyed("shared", [{ marking_number: number, weight: 2 }]);
  expect(expectData(batch).updated_count).toBe(1);
  expect(batch.headers.has("idempotency-replayed")).toBe(false);
});

it("is scoped to an organisation, and shared by its API keys", async () => {
  const number = await newJob();
  const first = await patchKeyed("mine", number, { weight: 1 });
  const another = await app.createOrganization("agent");
  expectFailure(await patchJob(app, { ...another, ...key("mine") }, number, { weight: 1 }), 404);
  const second = await app.createKey(agent.id);
  expectReplay(await patchJob(app, { key: second, ...key("mine") }, number, { weight: 1 }), first);
});

it.each(["", "two words", "x".repeat(256), "é"])("returns 400 if malformed: %j", async (text) => {
  const number = await newJob();
  expectProblems(await patchKeyed(text, number, { weight: 1 }), "header", ["Idempotency-Key"]);
  expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
});

it("stores nothing for a batch that changed nothing", async () => {
  const items = [{ marking_number: "NO-SUCH-JOB", weight: 1 }];
  expectData(await batchKeyed("batch-noop", items));
  expect(await stored("batch-noop")).toEqual([]);
});

// evidence: idempotency-same-transaction
it("changes the job and stores the response in one transaction", async () => {
  const number = await newJob();
  await withConstraint("idempotency_record", "key <> 'atomic' or answer is null", async () => {
    expectFailure(await patchKeyed("atomic", number, { weight: 1 }), 500);
    expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
  });
  const again = await patchKeyed("atomic", number, { weight: 1 });
  expectReplay(await patchKeyed("atomic", number, { weight: 1 }), again);
  expect(await versionOf(number)).toBe('"2"');
});

it("does not change how a batch with a failed item and a repeated marking number is applied", async () => {
  const number = await newJob();
  const items = [
    { marking_number: number, weight: 1 },
    { marking_number: "NO-SUCH-JOB", weight: 1 },
    { marking_number: number, weight: 2 },
  ];
  const first = await batchKeyed("failed", items);
  expect(expectData(first)).toMatchObject({ updated_count: 2, failed_count: 1 });
  expect(await versionOf(number)).toBe('"3"');
  expectReplay(await batchKeyed("failed", items), first);
});

it("needs only one database connection per request, also when a status must be looked up", async () => {
  const number = await newJob();
  const unknown = { normalized_status: "unheard_of" };
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      index % 2 === 0
        ? patchKeyed(`one-${index}`, number, unknown, other)
        : patchBatch(other, { ...agent, ...key(`one-${index}`) }, [{ marking_number: number, ...unknown }]),
    ),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400, 200]));
});

describe("422 when reused for a different request", () => {
  it("with another If-Match", async () => {
    const number = await newJob();
    const first = await patchMatching("422-match", '"1"', number, { weight: 1 });
    expectData(first);
    expectFailure(await patchMatching("422-match", '"2"', number, { weight: 1 }), 422);
    expectFailure(await patchKeyed("422-match", number, { weight: 1 }), 422);
    expectReplay(await patchMatching("422-match", '"1"', number, { weight: 1 }), first);
  });

  it("but not for the same values in another form", async () => {
    const number = await newJob();
    const send = (body: string) => patchKeyed("422-form", number, body);
    const first = await send('{"weight":11,"labels":"a"}');
    expectReplay(await send('{ "labels": "\\u0061",\n "weight": 11.0 }'), first);
  });

  it("with another body, marking number or query, and names the first request", async () => {
    const number = await newJob();
    const first = await patchKeyed("422", number, { weight: 1 });
    const { updated_at: at } = expectData(first);
    const refused = await patchKeyed("422", number, { weight: 2 });
    const { details } = expectFailure(refused, 422);
    expect(details).toEqual({ request_id: first.body.request_id, at: expect.any(String) });
    const { at: firstAt } = details as { at: string };
    expect(Math.abs(Date.parse(firstAt) - Date.parse(at))).toBeLessThan(10_000);
    expectFailure(await patchKeyed("422", await newJob(), { weight: 1 }), 422);
    expectFailure(
      await patchJob(app, { ...agent, ...key("422"), query: "dry_run=true" }, number, { weight: 1 }),
      422,
    );
    expect(expectData(await getJob(app, agent, number)).weight).toBe(1);
  });
});

describe("409 while the first request is in flight", () => {
  it("in any process, and the stored response later", async () => {
    const number = await newJob();
    const held = await lockJobRow(app.database, number);
    const first = patchKeyed("flight", number, { weight: 1 });
    await held.waitForBlockedSessions();
    for (const api of [app, other]) {
      expectFailure(await patchKeyed("flight", number, { weight: 1 }, api), 409);
      expectFailure(await patchKeyed("flight", number, { weight: 2 }, api), 409);
    }
    await held.release();
    expectData(await first);
    expectReplay(await patchKeyed("flight", number, { weight: 1 }, other), await first);
  });

  // evidence: idempotency-concurrent-requests
  it("one of many concurrent requests is applied; the others get 409 or its response", async () => {
    const number = await newJob();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => patchKeyed("many", number, { weight: 3 })),
    );
    const done = answers.filter((answer) => answer.status === 200);
    expect(done.filter((answer) => !answer.headers.has("idempotency-replayed"))).toHaveLength(1);
    for (const answer of answers.filter((one) => one.status !== 200)) expectFailure(answer, 409);
  });
});

describe("executes a repeated request again", () => {
  it("after a 404, 400 or 412, also with a different request", async () => {
    const number = await newJob();
    const later = `${number}-LATER`;
    expectFailure(await patchKeyed("404", later, { weight: 1 }), 404);
    await app.createJobs(agent, [{ markingNumber: later }]);
    expectData(await patchKeyed("404", later, { weight: 1 }));

    expectProblems(await patchKeyed("400", number, { weight: "1" }), "body", ["weight"]);
    expectData(await patchKeyed("400", number, { weight: 1 }));

    expectFailure(await patchMatching("412", '"9"', number, { weight: 2 }), 412);
    expectData(await patchMatching("412", '"2"', number, { weight: 2 }));
  });

  it("after a request that changed nothing, and after a dry run", async () => {
    const number = await newJob();
    expectData(await patchKeyed("no-op", number, { weight: null }));
    expectData(await patchJob(app, agent, number, { weight: 5 }));
    const again = await patchKeyed("no-op", number, { weight: null });
    expect(expectData(again).weight).toBeNull();
    expect(again.headers.has("idempotency-replayed")).toBe(false);

    const dry = { ...agent, ...key("dry"), query: "dry_run=true" };
    expect(expectData(await patchJob(app, dry, number, { weight: 1 })).weight).toBe(1);
    expectData(await patchJob(app, agent, number, { labels: "changed meanwhile" }));
    expect(expectData(await patchJob(app, dry, number, { weight: 1 })).labels).toBe("changed meanwhile");
    expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
    expectData(await patchKeyed("dry", number, { weight: 1 }));
  });

  it("after the database became unreachable during the first", async () => {
    const number = await newJob();
    const caller = { ...agent, ...key("503") };
    const held = await lockJobRow(app.database, number);
    const first = patchJob(app, caller, number, { weight: 1 });
    await held.waitForBlockedSessions();
    await app.database.query(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    expectFailure(await first, 503);
    await held.release();
    const again = await patchJob(app, caller, number, { weight: 1 });
    expect(expectData(again).weight).toBe(1);
    expect(again.headers.has("idempotency-replayed")).toBe(false);
  });

  it("after a 500, so that the error is not replayed", async () => {
    const number = await newJob();
    await withConstraint("job", "labels <> 'gold'", async () =>
      expectFailure(await patchKeyed("500", number, { labels: "gold" }), 500),
    );
    expect(expectData(await patchKeyed("500", number, { labels: "gold" })).labels).toBe("gold");
  });
});
