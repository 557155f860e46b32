/** Malicious values are rejected by name and never cause internal errors. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { getNamedType, isObjectType } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSchema } from "../../src/api/graphql/schema.ts";
import {
  generateArguments,
  generateNulls,
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
  operator = await app.createKey(null, { scopes });
  await app.createJobs(agent, [{ markingNumber: "H-1" }]);
  principals = [
    { key: agent.key },
    { key: operator },
    { headers: (await createSignedInUser(app, agent.id)).headers },
    { headers: (await createSignedInUser(app, agent.id, "dispatcher")).headers },
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

it("returns the other fields if the key may not see one of them", async () => {
  const reader = await app.createOrganization("agent", { scopes: ["jobs:read"] });
  const query = `{ jobs { totalCount } webhookEndpoints { id } nodes(ids: ["${endpoint}"]) { id } jobStatuses { code } }`;
  const { status, data, errors } = await graphql(app, query, { key: reader.key });
  expect(status).toBe(200);
  expect(data).toMatchObject({ jobs: { totalCount: 0 }, webhookEndpoints: null, nodes: [null] });
  expect(data.jobStatuses.length).toBeGreaterThan(10);
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(["FORBIDDEN"]);
});

/** What is wrong with the answers to a document, asked once or, without side effects, until it is compiled. */
const faultsOf = async (document: string, principal: GraphqlRequestOptions): Promise<string[]> => {
  const first = await graphql(app, document, principal);
  const answers = [first];
  for (let turn = 0; turn < 2 && document.startsWith("query"); turn += 1)
    answers.push(await graphql(app, document, principal));
  return answers.flatMap(({ status, errors = [], data }) => [
    ...(status >= 500 ? [`status ${status}`] : []),
    ...errors.filter(({ extensions }) => extensions.code === "INTERNAL_SERVER_ERROR").map(String),
    ...(isDeepStrictEqual(lasting(data), lasting(first.data)) ? [] : ["compiled, it has other data"]),
  ]);
};

const CHANGING: ReadonlySet<string> = new Set(["requestLog", "lastUsedAt"]);

/** The data without what these requests change themselves. */
function lasting(data: unknown): unknown {
  return (
    data && JSON.parse(JSON.stringify(data, (name, value: unknown) => (CHANGING.has(name) ? null : value)))
  );
}

// evidence: graphql-nulls
describe("null in each argument and input field that may be null", () => {
  const schema = createSchema();
  const literals: Record<string, string> = {
    ID: '"job_00000000000000000000000000"',
    String: '"H-1"',
    Int: "1",
    Float: "1",
    Boolean: "true",
    DateTime: '"2026-11-21T00:00:00Z"',
    LocalDate: '"2026-11-21"',
  };
  const attempts = { literalsFor: (_name: string, type: string) => [literals[type] ?? "null"] };
  const roots = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}).map((field) => ({
      name: field.name,
      start: type === schema.getQueryType() ? "query" : "mutation",
      field,
    })),
  );
  /** The fields with arguments of objects that a query can reach. */
  const below: [path: string, field: (typeof roots)[number]["field"]][] = (
    [
      ["query { jobs(first: 1) { nodes { $ } } }", "Job"],
      ["query { webhookEndpoints { $ } }", "WebhookEndpoint"],
      ["query { jobs(first: 1) { nodes { agent { $ } } } }", "Organization"],
    ] as const
  ).flatMap(([path, name]) => {
    const type = schema.getType(name);
    const fields = isObjectType(type) ? Object.values(type.getFields()) : [];
    return fields.filter(({ args }) => args.length > 0).map((field): [string, typeof field] => [path, field]);
  });
  const selectionOf = (field: (typeof roots)[number]["field"]): string => {
    const [type] = possibleObjectTypes(schema, getNamedType(field.type));
    return isObjectType(type) ? `{ ... on ${type.name} ${selectAllFields(type, 1)} }` : "";
  };
  const documents = [
    ...roots.flatMap(({ start, field }) =>
      generateNulls(field, attempts).map((list): [string, string] => [
        `${field.name}(${list})`,
        `${start} { ${field.name}(${list}) ${selectionOf(field)} }`,
      ]),
    ),
    ...below.flatMap(([path, field]) =>
      generateNulls(field, attempts).map((list): [string, string] => [
        `${field.name}(${list})`,
        path.replace("$", `${field.name}(${list}) ${selectionOf(field)}`),
      ]),
    ),
  ];

  it("are many", () => {
    expect(documents.length).toBeGreaterThan(150);
  });

  const byField = Object.entries(Object.groupBy(documents, ([list]) => list.replace(/\(.*/s, "")));

  it.each(byField)("is no internal error, and the same compiled: %s", async (_field, ofField = []) => {
    const faults: string[] = [];
    for (const [list, document] of ofField)
      for (const principal of principals.slice(0, 2))
        faults.push(...(await faultsOf(document, principal)).map((fault) => `${list}: ${fault}`));
    expect(faults).toEqual([]);
  });
});

describe("null in a variable of @skip or @include", () => {
  it.each([
    "query ($a: Boolean = true) { jobs { totalCount nodes { id @include(if: $a) } } }",
    "query ($a: Boolean = true) { jobs @skip(if: $a) { totalCount } }",
    "query ($a: Boolean = true) { ...F } fragment F on Query { jobs { nodes { ... @include(if: $a) { id } } } }",
  ])("is refused before anything runs, and the default works: %s", async (query) => {
    const refused = await graphql(app, query, { key: agent.key, variables: { a: null } });
    expect(refused.status).toBe(400);
    expect(refused.errors?.[0]).toMatchObject({
      message: "variables.a must not be null, because @skip or @include depends on it",
      extensions: { code: "BAD_USER_INPUT" },
    });
    expect((await graphql(app, query, { key: agent.key })).errors).toBeUndefined();
  });
});

it.each(["__proto__", "__typename"])(
  "a variable named $%s is refused, also the second time",
  async (name) => {
    const query = `query ($${name}: String!) { job(markingNumber: $${name}) { id } }`;
    for (let turn = 0; turn < 3; turn += 1) {
      const body = `{"query":${JSON.stringify(query)},"variables":{"${name}":"H-1"}}`;
      const { status, text } = await app.request("/graphql", { method: "POST", key: agent.key, body });
      expect(status).toBe(400);
      expect(text).toContain("names that start with __ are reserved");
    }
  },
);

it.each(["constructor", "hasOwnProperty", "toString", "prototype", "valueOf"])(
  "a variable, an alias and an operation named %s work, also compiled",
  async (name) => {
    const query = `query ${name}($${name}: String!) { ${name}: job(markingNumber: $${name}) { ${name}: markingNumber } }`;
    for (let turn = 0; turn < 3; turn += 1) {
      const { data } = await graphql(app, query, { key: agent.key, variables: { [name]: "H-1" } });
      expect(data).toEqual({ [name]: { [name]: "H-1" } });
    }
  },
);

it("a document with too many tokens says so, and how to pass them", async () => {
  const query = `{ jobs(filter: { status: [${"A ".repeat(1_000)}] }) { totalCount } }`;
  const { status, errors } = await graphql(app, query, { key: agent.key });
  expect(status).toBe(400);
  expect(errors?.[0]).toMatchObject({
    message: "The document has more than 1000 tokens. Pass lists and objects as variables",
    extensions: { code: "QUERY_TOO_EXPENSIVE", limit: "tokens", most: 1000 },
  });
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
