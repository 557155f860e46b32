/** The request log has the same entries and refusals in REST and GraphQL. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../src/api-keys/api.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { jobPath } from "../support/app/job-client.ts";
import {
  expectSameData,
  expectSameEffect,
  runBoth,
  type ParityAction,
  type ParityFixture,
} from "../support/app/parity.ts";
import { eventually } from "../support/eventually.ts";
import { inRestForm } from "../support/webhooks/webhook-parity.fixture.ts";

interface LogFixture extends ParityFixture {
  /** The id of the key that made the requests. */
  keyId: string;
  /** The ids of its requests: one that succeeded, one that was refused. */
  requests: { succeeded: string; refused: string };
  /** The id of a request of another organisation. */
  foreign: string;
}
type Action = ParityAction<LogFixture>;

let app: SharedApp;
/** Read through both interfaces, as reading changes nothing but the log. */
let fixture: LogFixture;
let keyWithoutJobs: string;

beforeAll(async () => {
  app = await sharedApp("api");
  const [own, other] = await Promise.all([logRequests(), logRequests()]);
  const createReader = async (scope: Scope): Promise<string> => {
    const newKey = { organizationId: own.organization.id, name: "reader", createdBy: "test" };
    return (await app.keys.create({ ...newKey, scopes: [scope] })).text;
  };
  fixture = { ...own, key: await createReader("jobs:read"), foreign: other.requests.refused };
  keyWithoutJobs = await createReader("webhooks:manage");
});

/** Makes requests with one key of a new organisation, and waits until the log has them. */
async function logRequests() {
  const organization = await app.createOrganization("agent");
  const newKey = { organizationId: organization.id, name: "logged", createdBy: "test" };
  const { key, text } = await app.keys.create(newKey);
  const [number = ""] = await app.createJobs(organization, [{}]);
  const call = (init: object) => app.call(jobPath(number), { key: text, ...init });
  const { body: succeeded } = await call({});
  const { body: refused } = await call({ method: "PATCH", body: '{"weight":"heavy"}' });
  await eventually(async () => {
    const written = await app.database.query(sql`
      select from request_log where organization_id = ${organization.id}`);
    expect(written).toHaveLength(2);
  });
  const requests = { succeeded: succeeded.request_id, refused: refused.request_id };
  return { organization, keyId: toTypedId("key", key.id), requests };
}

const setUp =
  (key?: () => string): Action["setUp"] =>
  async () => ({ ...fixture, ...(key && { key: key() }) });

const FIELDS =
  "requestId at method path status durationMs errorCode keyId keyName requestBody responseBody simulated";

interface Filters {
  rest: Record<string, string>;
  graphql: string;
}

function list(filters: (logs: LogFixture) => Filters, set: Action["setUp"]): Action {
  return {
    setUp: set,
    rest: (logs) => ({
      path: `/v1/requests?${new URLSearchParams({ page_size: "100", ...filters(logs).rest })}`,
    }),
    graphql: (logs) => ({
      document: `{ requestLog(first: 100${filters(logs).graphql}) { nodes { ${FIELDS} } pageInfo { hasNextPage } } }`,
    }),
  };
}

/** GraphQL reads one request with a filter of the list. */
function one(requestId: (logs: LogFixture) => string, set: Action["setUp"]): Action {
  return {
    setUp: set,
    rest: (logs) => ({ path: `/v1/requests/${requestId(logs)}` }),
    graphql: (logs) => ({
      document: `query ($id: String!) { requestLog(requestId: $id) { nodes { ${FIELDS} } } }`,
      variables: { id: requestId(logs) },
    }),
  };
}

interface Entry {
  key_name: string;
  path: string;
  status: number;
  request_body: string | null;
}

/** The entries of the fixture: reads are logged too. */
const logged = (entries: readonly Entry[]) => entries.filter(({ key_name: name }) => name === "logged");

async function expectSameEntries(action: Action): Promise<Entry[]> {
  const { rest, graphql } = await expectSameEffect(app, action);
  const entries = logged(rest.response.body.data.items);
  expectSameData(entries, logged(inRestForm(graphql.response.data.requestLog.nodes) as Entry[]));
  return entries;
}

describe("the request log", () => {
  it.each<[string, (logs: LogFixture) => Filters, number[]]>([
    ["without filters", () => ({ rest: {}, graphql: "" }), [400, 200]],
    ["of one key", ({ keyId }) => ({ rest: { key_id: keyId }, graphql: `, keyId: "${keyId}"` }), [400, 200]],
    [
      "of an unknown key",
      () => ({ rest: { key_id: "key_nonsense" }, graphql: ', keyId: "key_nonsense"' }),
      [],
    ],
    ["that succeeded", () => ({ rest: { outcome: "succeeded" }, graphql: ", status: SUCCEEDED" }), [200]],
    ["that were refused", () => ({ rest: { outcome: "refused" }, graphql: ", status: REFUSED" }), [400]],
    ["that failed", () => ({ rest: { outcome: "failed" }, graphql: ", status: FAILED" }), []],
    [
      "of one key with an outcome",
      ({ keyId }) => ({
        rest: { key_id: keyId, outcome: "refused" },
        graphql: `, keyId: "${keyId}", status: REFUSED`,
      }),
      [400],
    ],
  ])("lists the same requests %s", async (_what, filters, statuses) => {
    const entries = await expectSameEntries(list(filters, setUp()));
    expect(entries.map(({ status }) => status)).toEqual(statuses);
  });

  it("hides bodies and Marking Numbers in both without jobs:read", async () => {
    const entries = await expectSameEntries(
      list(
        () => ({ rest: {}, graphql: "" }),
        setUp(() => keyWithoutJobs),
      ),
    );
    expect(entries).toMatchObject([
      { path: "/v1/jobs/by-marking/***", request_body: null, response_body: null },
      { path: "/v1/jobs/by-marking/***", request_body: null, response_body: null },
    ]);
  });

  it("400 for a cursor of another list in both, with each interface's own name", async () => {
    const cursor = "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd";
    const filters = { rest: { cursor }, graphql: `, after: "${cursor}"` };
    const both = await runBoth(
      app,
      list(() => filters, setUp()),
    );
    expect(both.rest.refusal).toMatchObject({
      code: "invalid",
      messages: [expect.stringMatching(/^cursor is not a cursor/)],
    });
    expect(both.graphql.refusal).toMatchObject({
      code: "invalid",
      messages: [expect.stringMatching(/^after is not a cursor/)],
    });
    expect(both.rest.stored).toEqual(both.graphql.stored);
  });
});

describe("one request", () => {
  it.each(["succeeded", "refused"] as const)("is the same: one that %s", async (outcome) => {
    const { rest, graphql } = await expectSameEffect(
      app,
      one(({ requests }) => requests[outcome], setUp()),
    );
    const { data } = rest.response.body;
    expectSameData([data], inRestForm(graphql.response.data.requestLog.nodes));
    expect(data.status).toBe(outcome === "refused" ? 400 : 200);
    expect(data.request_body).toBe(outcome === "refused" ? '{"weight":"heavy"}' : null);
  });

  it.each<[string, (logs: LogFixture) => string]>([
    ["another organisation's", ({ foreign }) => foreign],
    ["unknown", () => "req_01KAJQZ4T0W5H8M3N9PXR2VD7C"],
    ["malformed", () => "nonsense"],
  ])("404 in REST, and no entry in GraphQL: %s", async (_what, requestId) => {
    const { rest, graphql } = await runBoth(app, one(requestId, setUp()));
    expect(rest.response.status).toBe(404);
    expect(graphql.response.data).toEqual({ requestLog: { nodes: [] } });
    expect(rest.stored).toEqual(graphql.stored);
  });
});

it("403 of an operator's key is REST's only: GraphQL finds a request of any organisation", async () => {
  const { text } = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" });
  const set = setUp(() => text);
  const { rest, graphql } = await runBoth(
    app,
    one(({ requests }) => requests.refused, set),
  );
  expect(rest.response.status).toBe(403);
  expect(graphql.response.data.requestLog.nodes).toHaveLength(1);
  const noId = await runBoth(
    app,
    list(() => ({ rest: {}, graphql: "" }), set),
  );
  expect([noId.rest.refusal?.code, noId.graphql.refusal?.code]).toEqual(["forbidden", "invalid"]);
});

it("401 is for the same reason: an unknown key", async () => {
  const set = setUp(() => "wmk_unknown");
  const { rest, graphql } = await runBoth(
    app,
    list(() => ({ rest: {}, graphql: "" }), set),
  );
  expect(rest.response.status).toBe(401);
  expect(graphql.response.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  expect(rest.refusal?.messages).toEqual(graphql.refusal?.messages);
});
