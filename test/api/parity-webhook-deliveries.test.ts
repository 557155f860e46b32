/** The delivery log and replays have the same effects, results and refusals in REST and GraphQL. */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { lockForTransaction } from "../../src/core/postgres/transaction-lock.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { expectSameData, expectSameEffect, expectSameRefusal, runBoth } from "../support/app/parity.ts";
import { waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import {
  DELIVERY_DETAIL_FIELDS,
  DELIVERY_FIELDS,
  USER_ERRORS,
  type WebhookAction as Action,
} from "../support/webhooks/webhook-parity.actions.ts";
import {
  inRestForm,
  setUpWebhooks,
  type WebhookFixture,
  type WebhookSetUp,
} from "../support/webhooks/webhook-parity.fixture.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});

const setUp = (options?: WebhookSetUp) => () => setUpWebhooks(app, options);
const UNKNOWN: WebhookSetUp = { target: "unknown" };
const FOREIGN: WebhookSetUp = { target: "another organisation's" };

interface Filters {
  rest: Record<string, string>;
  graphql: string;
}

function list(filters: (fixture: WebhookFixture) => Filters, setUpFixture: Action["setUp"]): Action {
  return {
    setUp: setUpFixture,
    rest: (fixture) => ({ path: `/v1/webhook-deliveries?${new URLSearchParams(filters(fixture).rest)}` }),
    graphql: (fixture) => ({
      document: `{ webhookDeliveries(first: 10${filters(fixture).graphql}) {
        nodes { ${DELIVERY_FIELDS} } pageInfo { hasNextPage } } }`,
    }),
  };
}

function replayOne(setUpFixture: Action["setUp"]): Action {
  return {
    setUp: setUpFixture,
    rest: ({ delivery }) => ({ method: "POST", path: `/v1/webhook-deliveries/${delivery}/replay` }),
    graphql: ({ delivery: id }) => ({
      document: `mutation ($id: ID!) { replayDelivery(id: $id) { delivery { ${DELIVERY_FIELDS} } ${USER_ERRORS} } }`,
      variables: { id },
    }),
  };
}

interface Selection {
  which: "failed" | "missing";
  since?: string;
  until?: string;
}

function replayMany({ which, ...range }: Selection, setUpFixture: Action["setUp"]): Action {
  return {
    setUp: setUpFixture,
    rest: ({ endpoint }) => ({
      method: "POST",
      path: `/v1/webhook-endpoints/${endpoint}/replay`,
      body: { which, ...range },
    }),
    graphql: ({ endpoint }) => ({
      document: `mutation ($id: ID!, $only: ReplaySelection!, $since: DateTime, $until: DateTime) {
        replayDeliveries(endpointId: $id, only: $only, since: $since, until: $until) { replayed cursor ${USER_ERRORS} } }`,
      variables: { id: endpoint, only: which.toUpperCase(), ...range },
    }),
  };
}

/** A fixture whose delivery rows were changed by `change`, a list of assignments. */
const withDeliveries =
  (change: ReturnType<typeof sql>, options: WebhookSetUp = { jobs: 1 }) =>
  async () => {
    const fixture = await setUpWebhooks(app, options);
    await app.database.query(sql`update webhook_delivery set ${change} where endpoint_id = ${fixture.uuid}`);
    return fixture;
  };

const PAST = "2020-01-01T00:00:00.000Z";
const FUTURE = "2100-01-01T00:00:00.000Z";

const detail = (setUpFixture: Action["setUp"]): Action => ({
  setUp: setUpFixture,
  rest: ({ delivery }) => ({ path: `/v1/webhook-deliveries/${delivery}` }),
  graphql: ({ delivery: id }) => ({
    document: `query ($id: ID!) { node(id: $id) { ... on WebhookDelivery { ${DELIVERY_DETAIL_FIELDS} } } }`,
    variables: { id },
  }),
});

const ofEndpoint = ({ endpoint }: WebhookFixture): Filters => ({
  rest: { endpoint_id: endpoint },
  graphql: `, endpointId: "${endpoint}"`,
});

const deleted = async () => {
  const fixture = await setUpWebhooks(app, { jobs: 1 });
  await app.database.query(sql`update webhook_endpoint set deleted_at = now() where id = ${fixture.uuid}`);
  return fixture;
};

const withoutDeliveries = async () => {
  const fixture = await setUpWebhooks(app, { jobs: 1 });
  await app.database.query(sql`delete from webhook_delivery where endpoint_id = ${fixture.uuid}`);
  return fixture;
};

describe("the delivery log", () => {
  it.each<[string, WebhookSetUp, (fixture: WebhookFixture) => Filters, number]>([
    ["without filters", { jobs: 1 }, () => ({ rest: {}, graphql: "" }), 1],
    [
      "of one endpoint",
      { jobs: 1 },
      ({ endpoint }) => ({ rest: { endpoint_id: endpoint }, graphql: `, endpointId: "${endpoint}"` }),
      1,
    ],
    [
      "with a status",
      { jobs: 1, finished: "failed" },
      () => ({ rest: { status: "failed" }, graphql: ", status: FAILED" }),
      1,
    ],
    [
      "of another event type",
      { jobs: 1 },
      () => ({ rest: { event_type: "job.assigned" }, graphql: ", eventType: JOB_ASSIGNED" }),
      0,
    ],
    [
      "of another job",
      { jobs: 1 },
      () => ({ rest: { marking_number: "NONE" }, graphql: ', markingNumber: "NONE"' }),
      0,
    ],
    [
      "in a time range",
      { jobs: 1 },
      () => ({ rest: { since: PAST, until: FUTURE }, graphql: `, since: "${PAST}", until: "${FUTURE}"` }),
      1,
    ],
    ["before a time", { jobs: 1 }, () => ({ rest: { until: PAST }, graphql: `, until: "${PAST}"` }), 0],
    ["since a time", { jobs: 1 }, () => ({ rest: { since: FUTURE }, graphql: `, since: "${FUTURE}"` }), 0],
  ])("lists the same deliveries %s", async (_what, options, filters, count) => {
    const { rest, graphql } = await expectSameEffect(app, list(filters, setUp(options)));
    const { items, pagination } = rest.response.body.data;
    const { nodes, pageInfo } = graphql.response.data.webhookDeliveries;
    expectSameData(items, inRestForm(nodes));
    expect(items).toHaveLength(count);
    expect(pagination.next_cursor !== null).toBe(pageInfo.hasNextPage);
  });

  it("returns the same delivery with attempts and body", async () => {
    const withAttempt = async () => {
      const fixture = await setUpWebhooks(app, { jobs: 1, finished: "failed" });
      await app.database.query(sql`
        insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
          request_headers, response_headers, response_body)
        select id, id, 1, now(), 12, 'http_500', 500, 'The receiver failed', '{"X-A": "********"}', '{"date": "today"}', 'no'
        from webhook_delivery where endpoint_id = ${fixture.uuid}`);
      return fixture;
    };
    const { rest, graphql } = await expectSameEffect(app, detail(withAttempt));
    expectSameData(rest.response.body.data, inRestForm(graphql.response.data.node));
    expect(rest.response.body.data).toMatchObject({
      request_body: expect.stringContaining("job.created"),
      attempts: [{ http_status: 500, request_headers: [{ name: "X-A", value: "********" }] }],
    });
  });

  it("hides the body in both without jobs:read", async () => {
    const options: WebhookSetUp = { jobs: 1, scopes: ["webhooks:manage"] };
    const { rest, graphql } = await runBoth(app, detail(setUp(options)));
    expect(rest.response.body.data).toMatchObject({ status: "pending", request_body: null });
    expect(graphql.response.data.node).toMatchObject({ status: "PENDING", requestBody: null });
    expect(graphql.refusal?.code).toBe("forbidden");
  });

  it.each<[string, WebhookSetUp, Filters, string]>([
    [
      "400 for an empty time range",
      {},
      { rest: { since: FUTURE, until: PAST }, graphql: `, since: "${FUTURE}", until: "${PAST}"` },
      "invalid",
    ],
  ])("is refused for the same reason: %s", async (_what, options, filters, code) => {
    await expectSameRefusal(
      app,
      list(() => filters, setUp(options)),
      code,
    );
  });

  it.each([UNKNOWN, FOREIGN])("404 is for the same reason: $target endpoint", async (options) => {
    const both = await runBoth(app, list(ofEndpoint, setUp(options)));
    expect(both.rest.response.status).toBe(404);
    // The ID is an argument of a query.
    expect(both.graphql.refusal?.code).toBe("invalid");
    expect(both.rest.refusal?.messages).toEqual(both.graphql.refusal?.messages);
  });
});

describe("replaying one delivery", () => {
  it.each<[string, WebhookSetUp]>([
    ["failed", { jobs: 1, finished: "failed" }],
    ["delivered", { jobs: 1, finished: "delivered" }],
    ["pending, which is discarded", { jobs: 1 }],
  ])("creates the same delivery: one that is %s", async (_what, options) => {
    const { rest, graphql } = await expectSameEffect(app, replayOne(setUp(options)));
    expect(rest.response.status).toBe(201);
    expectSameData(rest.response.body.data, inRestForm(graphql.response.data.replayDelivery.delivery));
    expect(rest.stored["webhook_delivery"]).toHaveLength(2);
  });

  const inFlight = sql`attempts = 1, lease_token = gen_random_uuid(), due_at = now() + interval '1 hour'`;
  const testEvent = sql`origin = 'test'`;
  it.each<[string, string, Action["setUp"]]>([
    ["409", "in flight", withDeliveries(inFlight)],
    ["409", "a test event", withDeliveries(testEvent)],
    ["409", "of a deleted endpoint", deleted],
    ["404", "unknown", setUp(UNKNOWN)],
    ["404", "of another organisation", setUp(FOREIGN)],
  ])("%s is for the same reason: %s", async (status, _what, setUpFixture) => {
    const code = { 404: "not_found", 409: "conflict" }[status] ?? "";
    const { rest } = await expectSameRefusal(app, replayOne(setUpFixture), code);
    expect(String(rest.response.status)).toBe(status);
  });
});

describe("replaying many deliveries", () => {
  const failed = setUp({ jobs: 1, finished: "failed" });

  it.each<[string, Selection, Action["setUp"], number]>([
    ["failed ones", { which: "failed" }, failed, 1],
    ["failed ones of a time range", { which: "failed", since: PAST, until: FUTURE }, failed, 1],
    ["failed ones before a time", { which: "failed", until: PAST }, failed, 0],
    ["failed ones after a time", { which: "failed", since: FUTURE }, failed, 0],
    ["missing ones", { which: "missing" }, withoutDeliveries, 1],
    ["missing ones before a time", { which: "missing", until: PAST }, withoutDeliveries, 0],
  ])(
    "creates the same deliveries and returns a cursor that lists them: %s",
    async (_what, selection, set, count) => {
      const { rest, graphql } = await expectSameEffect(app, replayMany(selection, set));
      expect(rest.response.body.data.replayed).toBe(count);
      expect(graphql.response.data.replayDeliveries.replayed).toBe(count);
      const cursors = [
        { ...rest, cursor: rest.response.body.data.cursor },
        { ...graphql, cursor: graphql.response.data.replayDeliveries.cursor },
      ].filter(({ cursor }) => cursor !== null);
      expect(cursors).toHaveLength(2 * count);
      for (const { fixture, cursor } of cursors) {
        const { body } = await app.call(`/v1/webhook-deliveries?cursor=${cursor}`, { key: fixture.key });
        expect(body.data.items).toMatchObject([{ origin: "replay", endpoint_id: fixture.endpoint }]);
      }
    },
  );

  it.each<[string, string, Selection, Action["setUp"]]>([
    ["400", "an empty time range", { which: "failed", since: FUTURE, until: PAST }, failed],
    ["404", "an unknown endpoint", { which: "failed" }, setUp(UNKNOWN)],
    ["404", "another organisation's endpoint", { which: "missing" }, setUp(FOREIGN)],
  ])("%s is for the same reason: %s", async (status, _what, selection, set) => {
    const code = { 400: "invalid", 404: "not_found" }[status] ?? "";
    const { rest } = await expectSameRefusal(app, replayMany(selection, set), code);
    expect(String(rest.response.status)).toBe(status);
  });

  it("429 is for the same reason: the organisation runs two replays already", async () => {
    const busy = async () => {
      const fixture = await setUpWebhooks(app, { jobs: 1, finished: "failed" });
      const { promise: finish, resolve: release } = Promise.withResolvers<void>();
      const { promise: holder, resolve: hold } = Promise.withResolvers<number>();
      const held = app.database.transaction(async (tx) => {
        await lockForTransaction(tx, `replay to ${fixture.uuid}`);
        const [session] = await tx.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
        hold(session?.pid ?? 0);
        await finish;
      });
      const holderPid = await holder;
      const owner = { organizationId: fixture.organization.id, actor: { type: "system", id: null } } as const;
      const replay = () => app.webhooks.deliveries.replayMany(owner, fixture.endpoint, { which: "failed" });
      const running = [replay(), replay()];
      onTestFinished(async () => {
        release();
        await Promise.all([held, ...running]);
      });
      await waitForBlockedSessions(app.database, running.length, holderPid);
      return fixture;
    };
    const { rest } = await expectSameRefusal(app, replayMany({ which: "failed" }, busy), "rate_limited");
    expect(rest.response.status).toBe(429);
    expect(rest.response.headers.get("retry-after")).toBe("5");
  });
});
