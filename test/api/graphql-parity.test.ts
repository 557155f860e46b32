/** REST and GraphQL return the same results for the same filter and the same patch. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { camelCase } from "../../src/core/names.ts";
import { jobFieldNames } from "../../src/jobs/fields.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { queryData } from "../support/graphql/client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;
let contractor: TestOrganization;

const STATUSES = ["pending", "in_transit", "failed", "completed"];
const PREFIX = `P${randomBytes(6).toString("hex")}-`;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  contractor = await app.createOrganization("contractor");
  await app.createJobs(
    agent,
    Array.from({ length: 40 }, (_, n) => ({
      markingNumber: `${PREFIX}${100 + n}`,
      ...(n % 3 === 0 && { contractor }),
      ...(n % 2 === 0 && { providerStatus: "DEX03" }),
      patch: {
        batch_number: n % 4 === 0 ? null : `B-${n % 3}`,
        group_code: `G-${n % 5}`,
        normalized_status: STATUSES[n % STATUSES.length] as string,
        failure_reason: n % 4 === 2 ? "recipient_moved" : null,
        scheduled_date: n % 7 === 0 ? null : `2026-12-${10 + (n % 9)}`,
        recipient_name: n % 2 === 0 ? "Harbour Bakery" : "50% Off_Shop",
        postal_code: `0${n % 6}9315`,
      },
    })),
  );
  await app.database.query(sql`
    update job set updated_at = '2026-06-01T23:59:59.998Z'::timestamptz + right(marking_number, 1)::int * interval '1 ms',
      created_at = '2026-05-02T23:59:59.999Z'::timestamptz + right(marking_number, 2)::int % 2 * interval '1 ms'
    where agent_id = ${agent.id}`);
});

const UNKNOWN = "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB";

/** A filter in REST and GraphQL. */
const filters: [rest: string, graphql: string][] = [
  ["", "{}"],
  [`marking_number=${PREFIX}107`, `{ markingNumber: { eq: "${PREFIX}107" } }`],
  ["batch_number=B-1", '{ batchNumber: { eq: "B-1" } }'],
  ["group_code=G-2", '{ groupCode: { eq: "G-2" } }'],
  ["normalized_status=failed", '{ normalizedStatus: { eq: "failed" } }'],
  ["normalized_status=failed,pending", '{ normalizedStatus: { in: ["failed", "pending"] } }'],
  [
    "normalized_status=failed&normalized_status=completed&category=attention",
    '{ normalizedStatus: { in: ["failed", "completed"] }, statusCategory: [ATTENTION] }',
  ],
  ["category=open,in_progress", "{ statusCategory: [OPEN, IN_PROGRESS] }"],
  [`contractor_id=${UNKNOWN},CONTRACTOR`, `{ contractorId: ["${UNKNOWN}", "CONTRACTOR"] }`],
  ["agent_id=AGENT&has_contractor=true", '{ agentId: ["AGENT"], hasContractor: true }'],
  ["has_contractor=false", "{ hasContractor: false }"],
  ["provider_status=DEX03", '{ providerStatus: { eq: "DEX03" } }'],
  [
    "created_at_from=2026-05-02&created_at_to=2026-05-02",
    '{ createdAt: { gte: "2026-05-02T00:00:00Z", lte: "2026-05-02T23:59:59.999Z" } }',
  ],
  ["failure_reason=recipient_moved", '{ failureReason: { eq: "recipient_moved" } }'],
  ["scheduled_date_from=2026-12-12", '{ scheduledDate: { gte: "2026-12-12" } }'],
  ["scheduled_date_to=2026-12-15", '{ scheduledDate: { lte: "2026-12-15" } }'],
  [
    "updated_at_from=2026-06-01&updated_at_to=2026-06-01",
    '{ updatedAt: { gte: "2026-06-01T00:00:00Z", lte: "2026-06-01T23:59:59.999Z" } }',
  ],
  [`q=${PREFIX}11`, `{ search: "${PREFIX}11" }`],
  ["q=50%25", '{ search: "50%" }'],
  [
    "normalized_status=failed&batch_number=B-2&q=bakery",
    '{ normalizedStatus: { eq: "failed" }, batchNumber: { eq: "B-2" }, search: "bakery" }',
  ],
];

const orders: [rest: string, graphql: string][] = [
  ["-created_at", "{ field: CREATED_AT, direction: DESC }"],
  ["updated_at", "{ field: UPDATED_AT, direction: ASC }"],
  ["scheduled_date", "{ field: SCHEDULED_DATE, direction: ASC }"],
  ["-scheduled_date", "{ field: SCHEDULED_DATE, direction: DESC }"],
];

const FIELDS = [
  "id",
  "markingNumber",
  ...jobFieldNames.map(camelCase),
  "providerStatus",
  "createdAt",
  "updatedAt",
  "version",
  "agent { id name }",
  "contractor { id name }",
];

function inCamelCase(job: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(job).map(([name, value]) => [camelCase(name), value]));
}

const withIds = (text: string) =>
  text.replace("AGENT", toTypedId("org", agent.id)).replace("CONTRACTOR", toTypedId("org", contractor.id));

it.each(filters.map(([rest, filter], index) => [rest.replace(PREFIX, "P-"), rest, filter, index] as const))(
  "?%s lists the same jobs, with the same total",
  async (_title, rest, filterText, index) => {
    const { key } = agent;
    const filter = withIds(filterText);
    // Without a filter in every order, with one in one order.
    for (const [sort, orderBy] of rest === "" ? orders : orders.slice(index % 4, (index % 4) + 1)) {
      const query = new URLSearchParams(withIds(rest));
      query.set("sort", sort);
      query.set("page_size", "100");
      const { items, pagination } = expectData(await app.call(`/v1/jobs?${query.toString()}`, { key }));
      const { jobs, jobStats } = await queryData(
        app,
        `{ jobs(first: 100, filter: ${filter}, orderBy: ${orderBy}) { totalCount nodes { ${FIELDS.join(" ")} } }
           jobStats(filter: ${filter}) { total } }`,
        { key },
      );
      expect(jobs.nodes).toEqual(items.map(inCamelCase));
      expect([jobs.totalCount, jobStats.total]).toEqual([pagination.total, pagination.total]);
      expect(pagination.total).toBeGreaterThan(0);
      expect(pagination.total).toBeLessThan(rest === "" ? 41 : 40);
    }
  },
);

const UPDATE = `mutation ($input: UpdateJobInput!) {
  updateJob(input: $input) { job { ${FIELDS.join(" ")} } userErrors { code field message } }
}`;

/** Creates one job for REST and one for GraphQL. */
async function twins(): Promise<[string, string]> {
  const patch = { weight: 4, recipient_name: "before", normalized_status: "failed", failure_reason: "other" };
  const [one = "", other = ""] = await app.createJobs(agent, [{ patch }, { patch }]);
  return [one, other];
}

const accepted: Record<string, unknown>[] = [
  { normalized_status: "completed", failure_reason: null },
  { weight: 12.75, piece_quantity: 3, pts: -1 },
  { scheduled_delivery_pending: true, scheduled_delivery_date: "2026-12-24", scheduled_date: null },
  Object.fromEntries(
    jobFieldNames
      .filter((name) => name !== "normalized_status" && name !== "scheduled_delivery_pending")
      .map((name) => [name, null]),
  ),
  { recipient_name: "before" },
  { labels: "🚚".repeat(255) },
];

const rejected: Record<string, unknown>[] = [
  {},
  { normalized_status: "vanished" },
  { normalized_status: null },
  { scheduled_delivery_pending: null },
  { piece_quantity: 0 },
  { labels: "🚚".repeat(256), postal_code: "x".repeat(61) },
  { recipient_name: "a\u0000b" },
  { batch_number: "\ud800" },
];

const titled = (patches: typeof accepted) =>
  patches.map((patch) => [JSON.stringify(patch).slice(0, 80), patch] as const);

/** Patches one job by REST and its twin by GraphQL. */
async function patchBoth(patch: Record<string, unknown>) {
  const [one, other] = await twins();
  const init = { method: "PATCH", key: agent.key, body: JSON.stringify(patch) };
  const rest = await app.call(`/v1/jobs/by-marking/${one}`, init);
  const variables = { input: { markingNumber: other, patch: inCamelCase(patch) } };
  const { updateJob } = await queryData(app, UPDATE, { key: agent.key, variables });
  return { one, other, rest, updateJob };
}

describe("the same patch", () => {
  it.each(titled(accepted))("has the same result: %s", async (_text, patch) => {
    const { one, other, rest, updateJob } = await patchBoth(patch);
    expect(rest.status).toBe(200);
    const own = {
      id: expect.any(String),
      markingNumber: other,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    };
    expect(updateJob.job).toEqual({ ...inCamelCase(rest.body.data), ...own });
    expect(updateJob.userErrors).toEqual([]);
    const history = await app.call(`/v1/jobs/by-marking/${one}/history`, { key: agent.key });
    expect(updateJob.job.version).toBe(history.body.data.items[0].sequence);
  });

  // evidence: validation-same-rest-graphql
  it.each(titled(rejected))("is rejected for the same reason: %s", async (_text, patch) => {
    const { rest, updateJob } = await patchBoth(patch);
    expect(rest.status).toBe(400);
    expect(updateJob.job).toBeNull();
    const problems = (rest.body.error?.details ?? [{ field: "", message: "" }]) as {
      field: string;
      message: string;
    }[];
    // For an empty patch, REST reports the whole body; GraphQL reports the item.
    expect(updateJob.userErrors).toMatchObject(
      problems.map(({ field }) => ({
        code: "INVALID",
        field: field === "" ? "input.patch" : `input.patch.${camelCase(field)}`,
      })),
    );
  });
});

it("updateJobs has a result for each item", async () => {
  const [markingNumber] = await app.createJobs(agent, [{}]);
  const items = [
    { markingNumber, patch: { weight: 5 } },
    { markingNumber, patch: { labels: "fragile" } },
    { markingNumber: "NONE", patch: { weight: 5 } },
    { markingNumber, patch: { labels: "x".repeat(256) } },
  ];
  const { updateJobs } = await queryData(
    app,
    `mutation ($items: [UpdateJobInput!]!) { updateJobs(items: $items) {
      updatedCount failedCount results { job { labels weight } userErrors { code field } } } }`,
    { key: agent.key, variables: { items } },
  );
  expect(updateJobs).toEqual({
    updatedCount: 2,
    failedCount: 2,
    results: [
      { job: { labels: null, weight: 5 }, userErrors: [] },
      { job: { labels: "fragile", weight: 5 }, userErrors: [] },
      { job: null, userErrors: [{ code: "NOT_FOUND", field: "items.2.markingNumber" }] },
      { job: null, userErrors: [{ code: "INVALID", field: "items.3.patch.labels" }] },
    ],
  });
});
