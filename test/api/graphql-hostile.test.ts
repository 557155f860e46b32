/** Malicious values are rejected by name and never cause internal errors. */
import fc from "fast-check";
import { getNamedType } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSchema } from "../../src/graphql/schema.ts";
import {
  generateArguments,
  selectAllFields,
  possibleObjectTypes,
} from "../support/graphql/document-generator.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { queryData, graphql, type GraphqlRequestOptions } from "../support/graphql/client.ts";
import { scopes } from "../../src/api-keys/api.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;
let operator: string;
let endpoint: string;
/** All principals with their credentials. */
let principals: GraphqlRequestOptions[];

beforeAll(async () => {
  // Operators call every mutation with arbitrary arguments.
  app = await startTestApp({ WAYMARK_ROLE: "api", WEBHOOK_ALLOW_PRIVATE: "on" });
  agent = await app.createOrganization("agent");
  operator = (await app.keys.create({ organizationId: null, name: "operator", scopes, createdBy: "test" }))
    .text;
  await app.createJobs(agent, [{ markingNumber: "H-1" }]);
  principals = [
    { key: agent.key },
    { key: operator },
    { headers: (await createSignedInUser(app, agent.id)).headers },
    { headers: (await createSignedInUser(app, agent.id, "member")).headers },
    { headers: (await createSignedInUser(app, null)).headers },
  ];
  const created = await queryData(
    app,
    'mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/" }) { endpoint { id } } }',
    { key: agent.key },
  );
  endpoint = created.createWebhookEndpoint.endpoint.id;
});

afterAll(() => app[Symbol.asyncDispose]());

const codesOf = async (query: string, key: string) => {
  const { errors, status } = await graphql(app, query, { key });
  return { status, codes: errors?.map(({ extensions }) => extensions.code) ?? [] };
};

describe("400 BAD_USER_INPUT", () => {
  it.each([
    ["a Marking Number with U+0000", '{ webhookDeliveries(markingNumber: "a\\u0000b") { nodes { id } } }'],
    [
      "an assignment without a contractor",
      'mutation { assignJobs(items: [{ markingNumber: "H-1" }]) { assignedCount } }',
    ],
    [
      "an assignment to an empty ID",
      'mutation { assignJobs(items: [{ markingNumber: "H-1", contractorId: "" }]) { assignedCount } }',
    ],
    [
      "a missing carrier's status",
      'mutation { setProviderStatus(items: [{ markingNumber: "H-1" }]) { updatedCount } }',
    ],
  ])("for %s", async (_what, query) => {
    expect(await codesOf(query, operator)).toEqual({ status: 400, codes: ["BAD_USER_INPUT"] });
  });

  it("for a history cursor beyond every sequence", async () => {
    const cursor = Buffer.from(JSON.stringify([1, "history", 9_007_199_254_740_991])).toString("base64url");
    const query = `{ job(markingNumber: "H-1") { history(after: "${cursor}") { nodes { id } } } }`;
    const { errors } = await graphql(app, query, { key: agent.key });
    expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
  });
});

it("rejects an empty organisation ID for a new key, instead of creating an operator's key", async () => {
  const query =
    'mutation { createApiKey(input: { name: "x", organizationId: "" }) { secret userErrors { code field } } }';
  const { createApiKey } = await queryData(app, query, { key: operator });
  expect(createApiKey).toEqual({
    secret: null,
    userErrors: [{ code: "INVALID", field: "input.organizationId" }],
  });
});

it.each(["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"])(
  "accepts the extreme time %s for resuming an endpoint",
  async (since) => {
    await queryData(app, `mutation { pauseWebhookEndpoint(id: "${endpoint}") { endpoint { id } } }`, {
      key: agent.key,
    });
    const query = `mutation { resumeWebhookEndpoint(id: "${endpoint}", pendingPolicy: SEND_SINCE, since: "${since}") { endpoint { status } } }`;
    const { resumeWebhookEndpoint } = await queryData(app, query, { key: agent.key });
    expect(resumeWebhookEndpoint.endpoint.status).toBe("ACTIVE");
  },
);

it("returns the other fields if the key may not see one of them", async () => {
  const reader = await app.createOrganization("agent", { scopes: ["jobs:read"] });
  const query = `{ jobs { totalCount } webhookEndpoints { id } nodes(ids: ["${endpoint}"]) { id } jobStatuses { code } }`;
  const { status, data, errors } = await graphql(app, query, { key: reader.key });
  expect(status).toBe(200);
  expect(data).toMatchObject({ jobs: { totalCount: 0 }, webhookEndpoints: null, nodes: [null] });
  expect(data.jobStatuses.length).toBeGreaterThan(10);
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(["FORBIDDEN"]);
});

describe("arbitrary documents", () => {
  const schema = createSchema();
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.constantFrom(
      "",
      "a\u0000b",
      "\ud800",
      "H-1",
      "job_00000000000000000000000000",
      "%",
      "\\",
      "9".repeat(400),
    ),
  );
  const literals: Record<string, fc.Arbitrary<string>> = {
    String: text.map((value) => JSON.stringify(value)),
    ID: text.map((value) => JSON.stringify(value)),
    Int: fc.oneof(fc.integer(), fc.constantFrom(0, 1, 100, 2_147_483_647, -1)).map(String),
    Float: fc
      .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(1e308, -0, 0))
      .map(String),
    Boolean: fc.constantFrom("true", "false", "null"),
    DateTime: fc.constantFrom(
      '"0001-01-01T00:00:00Z"',
      '"9999-12-31T23:59:59Z"',
      '"x"',
      '"2026-11-21T00:00:00+14:00"',
    ),
    LocalDate: fc.constantFrom('"0000-01-01"', '"0001-01-01"', '"9999-12-31"', '"2026-02-30"', '"x"'),
  };
  const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}).map((field) => ({
      field,
      root: type === schema.getQueryType() ? "query" : "mutation",
    })),
  );

  it("return data or a client error, never an internal error", async () => {
    const call = fc.record({
      at: fc.nat(fields.length - 1),
      pick: fc.nat(10_000),
      values: fc.record(literals),
      by: fc.nat(4),
    });
    await fc.assert(
      fc.asyncProperty(call, async ({ at: index, pick, values, by }) => {
        const { field, root } = fields[index] as (typeof fields)[number];
        const lists = generateArguments(field, { literalsFor: (_name, type) => [values[type] ?? "null"] });
        const [type] = possibleObjectTypes(schema, getNamedType(field.type));
        if (!type) throw new Error("A root field gives objects");
        const selection = `... on ${type.name} ${selectAllFields(type, 1)}`;
        const document = `${root} { ${field.name}${lists[pick % lists.length]} { ${selection} } }`;
        const { status, errors } = await graphql(app, document, principals[by]);
        const failures = (errors ?? []).filter(
          ({ extensions }) =>
            extensions.code === "INTERNAL_SERVER_ERROR" || extensions.code === "SERVICE_UNAVAILABLE",
        );
        expect({ document, status: status < 500, failures }).toEqual({
          document,
          status: true,
          failures: [],
        });
      }),
      { numRuns: 300 },
    );
  });
});
