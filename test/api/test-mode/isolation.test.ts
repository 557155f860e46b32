/**
 * Live and test data of one partner: a key of one mode neither sees nor changes data of the other, through any operation. The
 * requests come from the OpenAPI document and the GraphQL schema, so new operations are covered automatically.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operationsOf } from "../../../src/api/rest/openapi/operations.ts";
import { fromTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createSignedInUser } from "../../support/accounts/signed-in-user.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { documentedRequests, type DocumentedRequest } from "../../support/app/documented-requests.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { createLiveAndTest, rowsWith, type Side } from "../../support/app/live-and-test.fixture.ts";
import { apiDocument, type Operation } from "../../support/app/openapi-contract.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { eventually } from "../../support/eventually.ts";
import { graphql } from "../../support/graphql/client.ts";
import {
  answersTo,
  changeJob,
  createAttempts,
  followAll,
  isReturnedTo,
  mutationFields,
  queryFields,
  resultsOf,
  subscriptionCallsOf,
} from "../../support/graphql/known-values.ts";

// Without a worker, which would change deliveries and counters in the background.
const env = { WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api", MONGODB_URL: createTestMongo().url };
const app = await startTestApp(env);
afterAll(() => app[Symbol.asyncDispose]());
const operator = await createSignedInUser(app, null);
const sides: Record<"live" | "test", Side> = await createLiveAndTest(app);
await waitUntilFeedIsComplete(app.database);

/** The mode of the key, and the mode of the data that it must not reach. */
const directions = [
  ["test", "live"],
  ["live", "test"],
] as const;
type Mode = keyof typeof sides;

/** A live key lists and revokes the test keys of its organisation. */
const isKeyChange = (name: string): boolean => /api-keys|ApiKey|apiKeys/.test(name);

/** What no response with a key of the other mode may contain, except what the request itself contains. */
function hidden(mode: Mode, request: string): string[] {
  const { secrets } = sides[mode];
  return secrets.filter((text) => !request.includes(text) && !(mode === "test" && /^(key|org)_/.test(text)));
}

function expectHidden(mode: Mode, request: string, response: string): void {
  expect(hidden(mode, request).filter((text) => response.includes(text))).toEqual([]);
}

/** Written some time after the requests of the mode itself. */
const LOGS = ["request_log", "request_usage"];

/**
 * Returns a function that expects that no row of the mode has changed since its last call. After a read it does nothing: its next
 * call finds what the read has changed.
 */
async function watchRows(mode: Mode): Promise<(name: string, isRead?: boolean) => Promise<void>> {
  const read = () => rowsWith(app.database, sides[mode].uuids, LOGS);
  let known = await read();
  return async (name, isRead = false) => {
    if (isRead) return;
    const before = known;
    known = await read();
    // The audit log of both modes is the live one.
    const ignored = { audit_entry: [], ...(isKeyChange(name) && { api_key: [] }) };
    expect({ ...known, ...ignored }).toEqual({ ...before, ...ignored });
  };
}

/** The request with the ids and Marking Numbers of a side in place of the examples. */
function requestFor(
  { numbers, idOf }: Side,
  { path, body, ...request }: DocumentedRequest,
): DocumentedRequest {
  const [first = "", second = ""] = numbers;
  const fill = (text: string) =>
    text
      .replaceAll(/MN-2026-000123|TEST-4K7Q2M9XR3VD/g, first)
      .replaceAll("MN-2026-000124", second)
      .replaceAll("https://partner.example/", "http://127.0.0.1:9/")
      .replaceAll(/(whe|dlv|key|req)_[0-9A-Z]{26}/g, (_, prefix: string) => idOf[prefix] ?? "");
  return { ...request, path: fill(path), body: body === null ? null : fill(body) };
}

/** The values of a side for the query parameters of a list. */
function queriesFor({ numbers, idOf, cursors, texts }: Side, { method, name }: DocumentedRequest): string[] {
  const operations = operationsOf<Operation>(apiDocument.paths);
  const found = operations.find((each) => each.method === method && name === `${method} /v1${each.path}`);
  const [number = "", marker = ""] = [numbers[0], texts[1]];
  const values: Record<string, readonly string[]> = {
    marking_number: [number],
    q: [marker],
    batch_number: [`${marker} batch`],
    group_code: [`${marker} group`],
    failure_reason: [`${marker} reason`],
    endpoint_id: [idOf["whe"] ?? ""],
    key_id: [idOf["key"] ?? ""],
    cursor: cursors,
    after: cursors,
    page_size: ["100"],
    group_by: ["batch_number"],
  };
  return (found?.operation.parameters ?? [])
    .filter((parameter) => parameter.in === "query")
    .flatMap(({ name: parameter, schema: { examples = [] } }) =>
      (values[parameter] ?? [String(examples[0])]).map(
        (value) => `${new URLSearchParams({ [parameter]: value })}`,
      ),
    );
}

/** Sends the request as it is, and a list also with each query parameter. */
async function sendAll({ organization: { key } }: Side, of: Side, documented: DocumentedRequest) {
  const { method, path, body } = requestFor(of, documented);
  const queries = method === "GET" ? ["", ...queriesFor(of, documented)] : [""];
  const exchanges = [];
  for (const query of queries) {
    const url = query === "" ? path : `${path}?${query}`;
    const { body: response } = await app.call(url, { method, key, ...(body !== null && { body }) });
    exchanges.push({ request: `${url} ${body}`, response: JSON.stringify(response) });
  }
  return exchanges;
}

interface Check {
  name: string;
  isRead: boolean;
  run: (mode: Mode, other: Mode) => Promise<void>;
}

const operationChecks = documentedRequests.map((documented): Check => ({
  name: documented.name,
  isRead: documented.method === "GET",
  async run(mode, other) {
    for (const { request, response } of await sendAll(sides[mode], sides[other], documented))
      expectHidden(other, request, response);
  },
}));

const queryChecks = queryFields.map((field): Check => ({
  name: `query ${field.name}`,
  isRead: true,
  async run(mode, other) {
    const attempts = createAttempts(sides[other]);
    for await (const response of answersTo(app, sides[mode].organization, field, attempts))
      expectHidden(other, "", response);
  },
}));

const mutationChecks = mutationFields.map((field): Check => ({
  name: `mutation ${field.name}`,
  isRead: false,
  async run(mode, other) {
    const attempts = createAttempts(sides[other]);
    for await (const { call, result } of resultsOf(app, sides[mode].organization, field, attempts))
      // A bulk result repeats the requested Marking Number.
      expectHidden(other, call, result.replaceAll(/"markingNumber":"[^"]*"/g, ""));
  },
}));

const isReset = (name: string): boolean => /reset/i.test(name);
/**
 * First what would return values of the other mode that earlier requests contained: the request log, which has the paths of
 * requests for one entry, and deliveries to endpoints whose description is such a value.
 */
const order = [/requests$|requestLog/, /requests/, /sendSampleEvent/, /(?:)/];
const rank = (name: string): number => order.findIndex((pattern) => pattern.test(name));
const checks = [...operationChecks, ...queryChecks, ...mutationChecks]
  // It would delete the test data. `separation.test.ts` has it.
  .filter(({ name }) => !isReset(name))
  .toSorted((one, two) => rank(one.name) - rank(two.name))
  .map((check) => [check.name, check] as const);

// The order matters: requests of earlier tests must not contain values that later ones may not return.
describe("isolation", { shuffle: false }, () => {
  describe.each(directions)("with a %s key, no %s row is visible or changed:", (mode, other) => {
    let expectUnchanged: Awaited<ReturnType<typeof watchRows>>;
    beforeAll(async () => {
      expectUnchanged = await watchRows(other);
    });

    it.each(checks)("%s", async (name, { isRead, run }) => {
      await run(mode, other);
      await expectUnchanged(name, isRead);
    });

    it("no read has changed a row", () => expectUnchanged("the last reads"));

    it("subscription jobChanged", async () => {
      const calls = [...subscriptionCallsOf(createAttempts(sides[other])), "jobChanged"];
      const seen = await followAll(app, sides[mode].organization.key, calls);
      const control = await followAll(app, sides[other].organization.key, calls);
      await changeJob(app, sides[other].organization.key, sides[other].numbers[1] ?? "");
      await eventually(() => expect(control.at(-1)?.events).toHaveLength(1));
      await changeJob(app, sides[mode].organization.key, sides[mode].numbers[2] ?? "");
      // The last subscription gets its own event after the other's.
      await eventually(() => expect(seen.at(-1)?.events).toHaveLength(1));
      expectHidden(other, "", JSON.stringify(seen.map(({ events }) => events)));
    });
  });

  describe("an operator", () => {
    const lists =
      /^(jobs?|jobsByMarkingNumber|jobStats|events|organizations|failingWebhookEndpoints|nodes?)$/;
    it.each(queryFields.filter(({ name }) => lists.test(name)).map((field) => [field.name, field] as const))(
      "sees no test job, event or organisation in %s",
      async (name, field) => {
        await app.database.query(sql`update webhook_endpoint set failing_since = now()`);
        const { ids, ...known } = sides.test;
        // An operator can see the organisation of an ID.
        const prefixes = name.startsWith("node") ? /^(job|evt)_/ : /^(job|evt|org|whe)_/;
        const hiddenIds = ids.filter((id) => prefixes.test(id));
        const attempts = createAttempts({ ...known, ids: hiddenIds });
        for await (const response of answersTo(app, operator, field, attempts))
          expect(hiddenIds.filter((text) => response.includes(text))).toEqual([]);
      },
    );

    it.each([
      ["live", "by default", ""],
      ["live", "on request", "mode: LIVE"],
      ["test", "on request", "mode: TEST"],
    ] as const)("lists %s endpoints, deliveries and keys %s, each marked", async (mode, _when, choice) => {
      const shown = JSON.stringify([
        await operator.queryData(`{ webhookEndpoints${choice && `(${choice})`} { id mode } }`),
        await operator.queryData(
          `{ webhookDeliveries(${choice} first: 100) { nodes { id endpoint { mode } } } }`,
        ),
        await operator.queryData(`{ apiKeys${choice && `(${choice})`} { id mode } }`),
      ]);
      expect(new Set(shown.match(/(?<="mode":")\w+/g))).toEqual(new Set([mode.toUpperCase()]));
      const listed = (side: Side) =>
        side.ids.filter((id) => /^(whe|dlv|key)_/.test(id) && shown.includes(id));
      // Requests above have created more than a page of test deliveries.
      const prefixes = listed(sides[mode]).map((id) => id.slice(0, 3));
      expect(prefixes).toEqual(expect.arrayContaining(["whe", "key"]));
      expect(shown).toContain("dlv_");
      expect(listed(sides[mode === "live" ? "test" : "live"])).toEqual([]);
    });

    it("lists the deliveries of a test endpoint without asking for test data", async () => {
      const { whe = "" } = sides.test.idOf;
      const data = await operator.queryData(`{ webhookDeliveries(endpointId: "${whe}") { nodes { id } } }`);
      expect(JSON.stringify(data)).toContain("dlv_");
    });

    const jobMutations = /^(updateJobs?|rescheduleJobs|createJobs|assignJobs|setProviderStatus)$/;
    it.each(
      mutationFields
        .filter(({ name }) => jobMutations.test(name))
        .map((field) => [field.name, field] as const),
    )("changes no test job with %s", async (name, field) => {
      const expectUnchanged = await watchRows("test");
      const { numbers, texts, ...known } = sides.test;
      for (const number of numbers) {
        const attempts = createAttempts({ ...known, texts: [number, ...texts] });
        for await (const { call, result } of resultsOf(app, operator, field, attempts))
          expectHidden("test", call, result);
      }
      await expectUnchanged(name);
    });

    it("gets no event of a test job from jobChanged", async () => {
      const text = await app.createKey(null);
      const calls = [...subscriptionCallsOf(createAttempts(sides.test)), "jobChanged"];
      const seen = await followAll(app, text, calls);
      const control = await followAll(app, sides.test.organization.key, ["jobChanged"]);
      await changeJob(app, sides.test.organization.key, sides.test.numbers[1] ?? "");
      await eventually(() => expect(control.at(-1)?.events).toHaveLength(1));
      await changeJob(app, sides.live.organization.key, sides.live.numbers[2] ?? "");
      await eventually(() => expect(seen.at(-1)?.events).toHaveLength(1));
      expectHidden("test", "", JSON.stringify(seen.map(({ events }) => events)));
    });

    it("does not count or export test jobs", async () => {
      const { data } = await graphql(app, "{ jobs { totalCount } jobStats { total } }", operator);
      expect(data).toEqual({ jobs: { totalCount: 3 }, jobStats: { total: 3 } });
      const { text } = await app.request("/console-api/jobs.csv", { headers: operator.headers });
      expect([text.includes("LIVE-zq-1"), text.includes("TEST-")]).toEqual([true, false]);
    });
  });

  it("logs and counts each request in the organisation of its key", async () => {
    const rows = await app.database.query(sql`
    select distinct each.organization_id, api_key.organization_id as of_key
    from (
      select organization_id, key_id from request_log
      union select organization_id, key_id from request_usage
    ) each join api_key on api_key.id = key_id`);
    const ids = [sides.live, sides.test].map(({ organization: { id } }) => id);
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(expect.arrayContaining(ids.map((id) => ({ organization_id: id, of_key: id }))));
  });

  describe.each(["live", "test"] as const)("control: with its own %s key,", (mode) => {
    it.each(
      queryFields
        // `jobsToday` returns only numbers of jobs without a contractor.
        .filter(({ name }) => /^(job(?!sToday)|event|node|webhook|requestLog|apiKeys)/.test(name))
        .map((field) => [field.name, field] as const),
    )("query %s returns its data", async (_name, field) => {
      const { organization, secrets } = sides[mode];
      const known = { attempts: createAttempts(sides[mode]), texts: secrets };
      expect(await isReturnedTo(app, [organization], field, known)).toBe(true);
    });

    // The tests above have created further ones, up to the limit of test mode.
    beforeAll(() =>
      app.database.query(sql`
        update webhook_endpoint set deleted_at = now()
        where organization_id = any(${sides[mode].uuids}::uuid[])
          and id <> ${fromTypedId("whe", sides[mode].idOf["whe"] ?? "")}`),
    );
    // A live key has revoked the test key above.
    const excluded = mode === "test" ? /reset|api-keys\/\{id\}/ : /\/v1\/test\//;
    /** Deletions last. */
    const own = documentedRequests
      .filter(({ name }) => !excluded.test(name))
      .toSorted((one, two) => Number(one.method === "DELETE") - Number(two.method === "DELETE"));

    it.each(own.map((request) => [request.name, request] as const))(
      "%s succeeds",
      async (name, documented) => {
        const exchanges = await sendAll(sides[mode], sides[mode], documented);
        expect(exchanges[0]?.response).toContain('"success":true');
        const isOwnData = documented.method === "GET" && !name.includes("/reference/");
        const { secrets } = sides[mode];
        expect(
          !isOwnData || exchanges.some(({ response }) => secrets.some((text) => response.includes(text))),
        ).toBe(true);
      },
    );
  });
});
