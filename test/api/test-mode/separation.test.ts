/** A thousand changes of test jobs do not change live data, and a reset deletes every test row. */
import { afterAll, expect, it } from "vitest";
import { createSignedInUser } from "../../support/accounts/signed-in-user.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { createLiveAndTest, rowsWith } from "../../support/app/live-and-test.fixture.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { graphql } from "../../support/graphql/client.ts";

// Without a worker, which would send the deliveries of the fixture in the background.
const env = { WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api", MONGODB_URL: createTestMongo().url };
const app = await startTestApp(env);
afterAll(() => app[Symbol.asyncDispose]());
const operator = await createSignedInUser(app, null);
const { live, test } = await createLiveAndTest(app);
await waitUntilFeedIsComplete(app.database);

async function call(method: string, path: string, body?: object) {
  const { key } = test.organization;
  const options = { method, key, ...(body && { body: JSON.stringify(body) }) };
  const response = await app.call(path, options);
  expect(response.status).toBeLessThan(300);
  return response.body.data;
}

/** Requests are logged some time later. */
const LOGS = ["request_log", "request_usage"];

/** The live rows, and what the live key and an operator read: the exact text, except the request ID. */
async function liveData(feedCursor: string): Promise<unknown[]> {
  const paths = [
    "/v1/jobs",
    "/v1/jobs/stats",
    `/v1/jobs/by-marking/${live.numbers[0]}/history`,
    "/v1/events",
    `/v1/events?after=${feedCursor}`,
    "/v1/webhook-endpoints",
    "/v1/webhook-deliveries",
  ];
  const read = async (path: string) => {
    const { text, headers } = await app.request(path, { key: live.organization.key });
    return [headers["etag"], text.replace(/"request_id":"[^"]*"/, "")];
  };
  const query =
    "{ jobs { totalCount nodes { id version } } jobStats(groupBy: [STATUS, AGENT]) { total groups { count } } }";
  const { text } = await graphql(app, query, operator);
  return [
    await rowsWith(app.database, live.uuids, LOGS),
    ...(await Promise.all(paths.map(read))),
    text,
    (await app.request("/console-api/jobs.csv", { headers: operator.headers })).text,
  ];
}

it("a thousand changes of test jobs and a reset change no byte of live data", async () => {
  const { next_cursor: cursor } = (await app.call("/v1/events", { key: live.organization.key })).body
    .data as { next_cursor: string };
  const before = await liveData(cursor);
  expect(JSON.stringify(before)).toContain("LIVE-zq-1");
  const { items } = (await call("POST", "/v1/test/jobs", { count: 100 })) as {
    items: { marking_number: string }[];
  };
  for (let weight = 1; weight <= 10; weight += 1) {
    const jobs = items.map(({ marking_number: number }) => ({ marking_number: number, weight }));
    expect(await call("PATCH", "/v1/jobs/batch", { jobs })).toMatchObject({ updated_count: 100 });
  }
  await waitUntilFeedIsComplete(app.database);
  expect(await liveData(cursor)).toEqual(before);
  expect(await call("POST", "/v1/test/reset")).toMatchObject({
    jobs: expect.toSatisfy((jobs: number) => jobs >= 100),
  });
  expect(await liveData(cursor)).toEqual(before);
});

it("a reset leaves only the organisations, keys, endpoints, audit entries and news of the deletion", async () => {
  const headers = { "idempotency-key": "kept" };
  const { key } = test.organization;
  await app.call("/v1/test/jobs", { method: "POST", key, headers });
  await call("POST", "/v1/test/reset");
  const rows = await rowsWith(app.database, test.uuids, LOGS);
  const left = Object.entries(rows).flatMap(([table, found]) => (found.length > 0 ? [table] : []));
  const news = ["job_event", "webhook_delivery", "webhook_delivery_pending"];
  const kept = new Set(["api_key", "audit_entry", "organization", "webhook_endpoint", ...news]);
  expect(left.filter((table) => !kept.has(table))).toEqual([]);
  const again = await app.call("/v1/test/jobs", { method: "POST", key, headers });
  expect(again.headers.get("idempotency-replayed")).toBeNull();
});
