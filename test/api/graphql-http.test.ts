import { serverAudits, type AuditResult } from "graphql-http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGraphqlFixture, type GraphqlFixture } from "../support/graphql/server.fixture.ts";
import { codesOf, resolvers, typeDefs } from "../support/graphql/word-schema.ts";
import { eventually } from "../support/eventually.ts";

let rig: GraphqlFixture;
let key: string;

beforeAll(async () => {
  rig = await startGraphqlFixture({ typeDefs, resolvers });
  key = await rig.newKey();
});
afterAll(() => rig[Symbol.asyncDispose]());

describe("POST /graphql", () => {
  it("executes an operation, with its cost, and the request ID, log line and metrics of every request", async () => {
    const response = await rig.post({ query: "{ word }" }, { "x-api-key": key });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.body).toEqual({ data: { word: "here" }, extensions: { cost: 0 } });
    const requestId = response.headers.get("x-request-id");
    expect(requestId).toMatch(/^req_/);
    expect(response.headers.get("cache-control")).toBe("no-store");
    await eventually(() =>
      expect(rig.log.filter((line) => line["request_id"] === requestId)).toMatchObject([
        {
          method: "POST",
          route: "/graphql",
          status: 200,
          organization: expect.stringMatching(/^org_/),
          key: expect.stringMatching(/^key_/),
        },
      ]),
    );
    const { body } = await rig.request("/metrics");
    expect(body).toMatch(/duration_seconds_count\{method="POST",route="\/graphql",status="200"\} [1-9]/);
  });

  it("logs the key ID but no organisation for an operator", async () => {
    const operator = await rig.keys.create({ organizationId: null, name: "op", createdBy: "test" });
    const response = await rig.post({ query: "{ word }" }, { "x-api-key": operator.text });
    expect(response.status).toBe(200);
    const isLine = (line: Record<string, unknown>): boolean =>
      line["request_id"] === response.headers.get("x-request-id");
    await eventually(() =>
      expect(rig.log.find(isLine)).toMatchObject({ key: expect.stringMatching(/^key_/) }),
    );
    expect(rig.log.find(isLine)).not.toHaveProperty("organization");
  });

  it("answers introspection without a key, and nothing else", async () => {
    const look = await rig.post({ query: "{ __schema { queryType { name } } __typename }" });
    expect(look).toMatchObject({
      status: 200,
      body: { data: { __schema: { queryType: { name: "Query" } } } },
    });
    const mixed = await rig.post({ query: "{ __typename word }" });
    expect(mixed.status).toBe(401);
    expect(mixed.headers.get("www-authenticate")).toBe("Bearer");
    expect(codesOf(mixed)).toEqual(["UNAUTHENTICATED"]);
  });

  it("rejects subscriptions and refers to WebSocket", async () => {
    const response = await rig.post({ query: "subscription { changed }" }, { "x-api-key": key });
    expect(response.status).toBe(400);
    expect(codesOf(response)).toEqual(["BAD_USER_INPUT"]);
    expect(response.body.errors[0].message).toContain("WebSocket");
  });
});

describe("GET /graphql", () => {
  // evidence: csrf-graphql-get
  it("rejects requests that pages of other origins can send without a preflight", async () => {
    const simple = [
      {},
      { cookie: "session=x" },
      { accept: "application/json", "content-type": "text/plain" },
    ];
    for (const headers of simple) {
      const response = await rig.request(`/graphql?query=${encodeURIComponent("{ __typename }")}`, {
        headers,
      });
      expect(response.status).toBe(400);
      expect(response.body.errors[0].message).toContain("Cross-Site Request Forgery");
    }
  });

  // As @urql/core 6.0.3 sends it by default.
  const urql = {
    accept:
      "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed",
  };
  const urqlPath =
    "/graphql?query=query+A%28%24t%3A+String%29+%7B%0A++echo%28text%3A+%24t%29%0A%7D&operationName=A&variables=%7B%22t%22%3A%22hi%22%7D";

  it.each(["x-api-key", "authorization"])(
    "accepts urql's query with the key in %s, and rejects a mutation",
    async (name) => {
      const headers = { ...urql, [name]: name === "authorization" ? `Bearer ${key}` : key };
      const query = await rig.request(urqlPath, { headers });
      expect(query).toMatchObject({ status: 200, body: { data: { echo: "hi" } } });
      const path = `/graphql?query=${encodeURIComponent("mutation { change }")}`;
      expect(await rig.request(path, { headers })).toMatchObject({ status: 405 });
    },
  );
});

describe("an invalid request returns GraphQL errors instead of the REST envelope", () => {
  const json = "application/json";
  const cases: [name: string, status: number, code: string, init: RequestInit & { path?: string }][] = [
    ["broken JSON", 400, "BAD_REQUEST", { body: '{"query":' }],
    ["an empty body", 400, "BAD_REQUEST", {}],
    ["a list of operations", 400, "BAD_REQUEST", { body: '[{"query":"{word}"}]' }],
    ["a string", 400, "BAD_REQUEST", { body: '"{ word }"' }],
    ["null", 400, "BAD_REQUEST", { body: "null" }],
    ["a body without a query", 400, "BAD_REQUEST", { body: '{"variables":{}}' }],
    ["a query that is not a string", 400, "BAD_REQUEST", { body: '{"query":{"kind":"Document"}}' }],
    ["variables that are a list", 400, "BAD_REQUEST", { body: '{"query":"{word}","variables":[1]}' }],
    [
      "an operation name that is not a string",
      400,
      "BAD_REQUEST",
      { body: '{"query":"{word}","operationName":3}' },
    ],
    [
      "an unknown operation name",
      400,
      "OPERATION_RESOLUTION_FAILURE",
      { body: '{"query":"query A{word}","operationName":"B"}' },
    ],
    ["bytes that are not UTF-8", 400, "BAD_REQUEST", { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]) }],
    [
      "another charset",
      415,
      "BAD_REQUEST",
      { body: "{}", headers: { "content-type": `${json}; charset=latin1` } },
    ],
    ["plain text", 415, "BAD_REQUEST", { body: "{ word }", headers: { "content-type": "text/plain" } }],
    [
      "a form body",
      415,
      "BAD_REQUEST",
      { body: "query={word}", headers: { "content-type": "application/x-www-form-urlencoded" } },
    ],
    [
      "an unknown encoding",
      415,
      "BAD_REQUEST",
      { body: "{}", headers: { "content-type": json, "content-encoding": "zip" } },
    ],
    [
      "a persisted query",
      200,
      "PERSISTED_QUERY_NOT_SUPPORTED",
      { body: '{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"ab"}}}' },
    ],
    ["a syntax error", 400, "GRAPHQL_PARSE_FAILED", { body: '{"query":"{ word"}' }],
    ["an unknown field", 400, "GRAPHQL_VALIDATION_FAILED", { body: '{"query":"{ wort }"}' }],
    ["@defer", 400, "GRAPHQL_VALIDATION_FAILED", { body: '{"query":"{ ... @defer { word } }"}' }],
    ["PUT", 405, "BAD_REQUEST", { method: "PUT", body: '{"query":"{ word }"}' }],
    ["DELETE", 405, "BAD_REQUEST", { method: "DELETE" }],
    ["a path below /graphql", 404, "BAD_REQUEST", { path: "/graphql/more", body: "{}" }],
  ];

  it.each(cases)("for %s", async (_name, status, code, { path = "/graphql", ...init }) => {
    const headers = { "content-type": json, "x-api-key": key, ...(init.headers as Record<string, string>) };
    const response = await rig.request(path, { method: "POST", ...init, headers });
    expect(response.body).not.toHaveProperty("success");
    expect(response.body.errors).toMatchObject([
      {
        message: expect.stringMatching(/\w/),
        extensions: { code, requestId: response.headers.get("x-request-id") },
      },
    ]);
    expect(response.status).toBe(status);
    expect(JSON.stringify(response.body)).not.toMatch(/stack|node_modules|\.ts:/);
  });
});

const fetchAudited = (url: string, init: RequestInit = {}): Promise<Response> => {
  const headers = new Headers(init.headers);
  headers.set("x-api-key", key);
  // GET requests need a header that pages of other origins cannot send.
  headers.set("apollo-require-preflight", "1");
  return fetch(url, { ...init, headers });
};

it("passes the audits of GraphQL over HTTP, and Apollo deviates only from three recommendations", async () => {
  const results: AuditResult[] = [];
  // Run one by one: all together would need more connections than a test server has.
  for (const audit of serverAudits({ url: `${rig.url}/graphql`, fetchFn: fetchAudited }))
    results.push(await audit.fn());
  const named = (status: AuditResult["status"]): string[] =>
    results.filter((result) => result.status === status).map(({ name }) => name);
  expect(named("error")).toEqual([]);
  expect(named("ok").length).toBeGreaterThan(50);
  expect(named("warn").toSorted()).toEqual([
    "SHOULD use 200 status code on document parsing failure when accepting application/json",
    "SHOULD use 200 status code on document validation failure when accepting application/json",
    "SHOULD use a status code of 200 on variable coercion failure when accepting application/json",
  ]);
});

// evidence: body-limit-graphql
it("accepts a body of 256 KiB, and rejects one byte more with 413", async () => {
  const body = `{"query":"{word}"}`.padEnd(256 * 1024);
  expect(await rig.post(body, { "x-api-key": key })).toMatchObject({ status: 200 });
  const refused = await rig.post(`${body} `, { "x-api-key": key });
  expect(refused.status).toBe(413);
  expect(codesOf(refused)).toEqual(["BAD_REQUEST"]);
});
