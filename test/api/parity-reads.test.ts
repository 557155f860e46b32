/** The reads whose arguments GraphQL maps by hand have the results of REST: deliveries, look-up and statistics. request-log-rest.test.ts has the request log. */
import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { groupNames } from "../../src/jobs/counters/operations.ts";
import { expectData } from "../support/app/assertions.ts";
import { patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { graphql, queryData } from "../support/graphql/client.ts";
import {
  inRestForm,
  setUpWebhooks,
  type WebhookFixture,
} from "../support/webhooks/webhook-parity.fixture.ts";

const { app } = useSharedApp();
let fixture: WebhookFixture;
let number: string;

beforeAll(async () => {
  fixture = await setUpWebhooks(app, { jobs: 2, finished: "failed" });
  const { key } = fixture;
  const [job] = expectData(await app.call("/v1/jobs", { key })).items;
  number = String(job.marking_number);
  const patch = { batch_number: "B-1", normalized_status: "failed", weight: 2.5, piece_quantity: 3 };
  expectData(await patchJob(app, { key: fixture.organization.key }, number, patch));
  await app.database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    select id, id, 1, now(), 12, 'http_500', 500, 'The receiver failed', '{"X-A": "********"}', '{"date": "today"}', 'no'
    from webhook_delivery where endpoint_id = ${fixture.uuid}`);
});

const DELIVERY = `id endpointId eventId eventType markingNumber origin status attemptCount outcome nextAttemptAt isInFlight
  createdAt finishedAt`;
const PAST = "2020-01-01T00:00:00.000Z";

/** The query of REST, the arguments of GraphQL, and the number of rows. */
type Filters = [rest: Record<string, string>, graphql: string, rows: number];

async function expectSameRows([rest, args, rows]: Filters) {
  const { key } = fixture;
  const path = `/v1/webhook-deliveries?${new URLSearchParams(rest)}`;
  const { items } = expectData(await app.call(path, { key }));
  const query = `{ webhookDeliveries(first: 20${args}) { nodes { ${DELIVERY} } } }`;
  const { webhookDeliveries } = await queryData(app, query, { key });
  expect(inRestForm(webhookDeliveries.nodes)).toEqual(items);
  expect(items).toHaveLength(rows);
}

describe("the delivery log", () => {
  it.each<[string, () => Filters]>([
    ["endpoint", () => [{ endpoint_id: fixture.endpoint }, `, endpointId: "${fixture.endpoint}"`, 3]],
    ["status", () => [{ status: "failed" }, ", status: FAILED", 2]],
    ["response", () => [{ http_class: "http_5xx" }, ", httpClass: HTTP_5XX", 2]],
    ["result", () => [{ outcome: "http_500" }, `, outcome: "http_500"`, 2]],
    ["waiting for a retry", () => [{ status: "retrying" }, ", status: RETRYING", 0]],
    ["event type", () => [{ event_type: "job.status_changed" }, ", eventType: JOB_STATUS_CHANGED", 1]],
    ["Marking Number", () => [{ marking_number: number }, `, markingNumber: "${number}"`, 2]],
    ["start", () => [{ since: PAST }, `, since: "${PAST}"`, 3]],
    ["end", () => [{ until: PAST }, `, until: "${PAST}"`, 0]],
  ])("has the same deliveries by %s", async (_what, filters) => {
    await expectSameRows(filters());
  });

  const detail = `{ node(id: "ID") { ... on WebhookDelivery { ${DELIVERY} requestBody attempts { id number startedAt durationMs
    outcome httpStatus error requestHeaders { name value } responseHeaders { name value } responseBody } } } }`;

  it("has the same attempts and body", async () => {
    const { key, delivery } = fixture;
    const data = expectData(await app.call(`/v1/webhook-deliveries/${delivery}`, { key }));
    const { node } = await queryData(app, detail.replace("ID", delivery), { key });
    expect(inRestForm(node)).toEqual(data);
    expect(data).toMatchObject({ request_body: expect.any(String), attempts: [{ http_status: 500 }] });
  });

  it("has no body in both for a key without jobs:read", async () => {
    const key = await app.createKey(fixture.organization.id, { scopes: ["webhooks:manage"] });
    const rest = expectData(await app.call(`/v1/webhook-deliveries/${fixture.delivery}`, { key }));
    const { data, errors } = await graphql(app, detail.replace("ID", fixture.delivery), { key });
    expect([rest.request_body, data.node.requestBody]).toEqual([null, null]);
    expect(errors?.[0]?.extensions.code).toBe("FORBIDDEN");
  });
});

/** GraphQL's name of each group. */
const groups: Record<(typeof groupNames)[number], string> = {
  normalized_status: "STATUS",
  category: "CATEGORY",
  failure_reason: "FAILURE_REASON",
  scheduled_date: "SCHEDULED_DATE",
  created_day: "CREATED_DAY",
  updated_day: "UPDATED_DAY",
  contractor_id: "CONTRACTOR",
  agent_id: "AGENT",
  batch_number: "BATCH",
  group_code: "GROUP_CODE",
  postal_code: "POSTAL_CODE",
};

it.each(groupNames)("jobStats has the same groups and sums by %s", async (name) => {
  const { key } = fixture;
  const rest = expectData(
    await app.call(`/v1/jobs/stats?group_by=${name}&sums=piece_quantity,weight`, { key }),
  );
  const { jobStats } = await queryData(
    app,
    `{ jobStats(groupBy: [${groups[name]}]) {
      total truncated groups { keys { key value label } count pieceQuantity weight } } }`,
    { key },
  );
  // GraphQL has its own names of keys, and categories in upper case.
  const inGraphql = JSON.stringify(rest)
    .replaceAll(`"key":"${name}"`, `"key":"${groups[name]}"`)
    .replaceAll("piece_quantity", "pieceQuantity")
    .replaceAll(/(?<="key":"CATEGORY","value":)"\w+"/g, (value) => value.toUpperCase());
  expect(jobStats).toEqual(JSON.parse(inGraphql));
  expect(rest.groups.length).toBeGreaterThan(0);
});

it("jobsByMarkingNumber has the jobs of the look-up, in order and with null", async () => {
  const { key } = fixture;
  const numbers = ["NONE", number, number];
  const body = JSON.stringify({ marking_numbers: numbers });
  const { items } = expectData(await app.call("/v1/jobs/lookup", { key, method: "POST", body }));
  const { jobsByMarkingNumber: found } = await queryData(
    app,
    "query ($numbers: [String!]!) { jobsByMarkingNumber(markingNumbers: $numbers) { id markingNumber weight version } }",
    { key, variables: { numbers } },
  );
  expect(items).toMatchObject(inRestForm(found) as object);
  expect(items.map((job: object | null) => job !== null)).toEqual([false, true, true]);
});
