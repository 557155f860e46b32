/** The delivery log is the same in REST and GraphQL. */
import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import {
  expectSameData,
  expectSameEffect,
  expectSameRefusal,
  type ParityAction,
  runBoth,
} from "../support/app/parity.ts";
import {
  inRestForm,
  setUpWebhooks,
  type WebhookFixture,
  type WebhookSetUp,
} from "../support/webhooks/webhook-parity.fixture.ts";

type Action = ParityAction<WebhookFixture>;

const DELIVERY_FIELDS = `id endpointId eventId eventType markingNumber origin status attemptCount outcome nextAttemptAt
  isInFlight createdAt finishedAt`;
const DELIVERY_DETAIL_FIELDS = `${DELIVERY_FIELDS} requestBody attempts { id number startedAt durationMs outcome
  httpStatus error requestHeaders { name value } responseHeaders { name value } responseBody }`;

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
