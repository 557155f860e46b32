/** The reads whose arguments GraphQL maps by hand have the results of REST: the request log, deliveries, look-up and statistics. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../src/api-keys/api.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { groupNames } from "../../src/jobs/counters/operations.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { getJob, patchJob } from "../support/app/job-client.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";
import { graphql, queryData } from "../support/graphql/client.ts";
import {
  inRestForm,
  setUpWebhooks,
  type WebhookFixture,
} from "../support/webhooks/webhook-parity.fixture.ts";

let app: SharedApp;
let fixture: WebhookFixture;
/** The id of the key that made the requests in the log. */
let keyId: string;
let number: string;

beforeAll(async () => {
  app = await sharedApp("api");
  fixture = await setUpWebhooks(app, { jobs: 2, finished: "failed" });
  const { id: organizationId } = fixture.organization;
  const { key, text } = await app.keys.create({ organizationId, name: "logged", createdBy: "test" });
  keyId = toTypedId("key", key.id);
  const [job] = expectData(await app.call("/v1/jobs", { key: text })).items;
  number = String(job.marking_number);
  const patch = { batch_number: "B-1", normalized_status: "failed", weight: 2.5, piece_quantity: 3 };
  expectData(await patchJob(app, { key: text }, number, patch));
  expectFailure(await getJob(app, { key: text }, "NONE"), 404);
  await app.database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    select id, id, 1, now(), 12, 'http_500', 500, 'The receiver failed', '{"X-A": "********"}', '{"date": "today"}', 'no'
    from webhook_delivery where endpoint_id = ${fixture.uuid}`);
  await waitForLog(key.id);
});

/** Waits until the three requests of the key are in the log. */
const waitForLog = (id: string) =>
  eventually(async () => {
    const written = await app.database.query(sql`select from request_log where key_id = ${id}::uuid`);
    if (written.length < 3) throw new Error(`The log has ${written.length} of 3 requests`);
  });

const REQUEST =
  "requestId at method path status durationMs errorCode keyId keyName requestBody responseBody simulated ignoredParameters";
const DELIVERY = `id endpointId eventId eventType markingNumber origin status attemptCount outcome nextAttemptAt isInFlight
  createdAt finishedAt`;
const PAST = "2020-01-01T00:00:00.000Z";

/** The query of REST, the arguments of GraphQL, and the number of rows. */
type Filters = [rest: Record<string, string>, graphql: string, rows: number];

async function expectSameRows(path: string, field: string, fields: string, [rest, args, rows]: Filters) {
  const { key } = fixture;
  const { items } = expectData(await app.call(`${path}?${new URLSearchParams(rest)}`, { key }));
  const data = await queryData(app, `{ ${field}(first: 20${args}) { nodes { ${fields} } } }`, { key });
  expect(inRestForm(data[field].nodes)).toEqual(items);
  expect(items).toHaveLength(rows);
}

describe("the request log", () => {
  it.each<[string, () => Filters]>([
    ["a key", () => [{ key_id: keyId }, `, keyId: "${keyId}"`, 3]],
    ["refused", () => [{ key_id: keyId, outcome: "refused" }, `, keyId: "${keyId}", status: REFUSED`, 1]],
    [
      "succeeded",
      () => [{ key_id: keyId, outcome: "succeeded" }, `, keyId: "${keyId}", status: SUCCEEDED`, 2],
    ],
    ["failed", () => [{ outcome: "failed" }, ", status: FAILED", 0]],
  ])("has the same requests by %s", async (_what, filters) => {
    await expectSameRows("/v1/requests", "requestLog", REQUEST, filters());
  });
});

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
    await expectSameRows("/v1/webhook-deliveries", "webhookDeliveries", DELIVERY, filters());
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
    const scopes: Scope[] = ["webhooks:manage"];
    const created = { organizationId: fixture.organization.id, name: "hooks", createdBy: "test", scopes };
    const { text: key } = await app.keys.create(created);
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
