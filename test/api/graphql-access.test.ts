import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGraphqlFixture, type GraphqlFixture } from "../support/graphql/server.fixture.ts";
import { codesOf, resolvers, typeDefs } from "../support/graphql/word-schema.ts";

let rig: GraphqlFixture;
let production: GraphqlFixture;

beforeAll(async () => {
  rig = await startGraphqlFixture({ typeDefs, resolvers });
  const env = { NODE_ENV: "production", CORS_ORIGINS: "https://app.example.com" };
  production = await startGraphqlFixture({ typeDefs, resolvers, env });
});
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await production[Symbol.asyncDispose]();
});

it("returns 401 for an unknown key, before the body is read", async () => {
  const response = await rig.post('{"query":', { "x-api-key": "wmk_nonsense" });
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toBe("Bearer");
  expect(response.body.errors[0].extensions).toEqual({
    code: "UNAUTHENTICATED",
    requestId: response.headers.get("x-request-id"),
    docUrl: "https://api.example.com/errors/UNAUTHENTICATED",
  });
});

describe("in production", () => {
  it.each(["{ __schema { queryType { name } } }", "{ __typename }", "{ wort }", "{", "{ word }"])(
    "anonymous introspection returns nothing: %s",
    async (query) => {
      const response = await production.post({ query });
      expect(response.status).toBe(401);
      expect(response.body.errors).toHaveLength(1);
      expect(response.body.errors[0].extensions.code).toBe("UNAUTHENTICATED");
      expect(response.body.errors[0].message).not.toContain("word");
    },
  );

  // evidence: production-schema-needs-key
  it("allows introspection with a key", async () => {
    const response = await production.post(
      { query: "{ __schema { queryType { name } } }" },
      { "x-api-key": await production.newKey() },
    );
    expect(response.body.data).toEqual({ __schema: { queryType: { name: "Query" } } });
  });
});

it("rate limits count each request as a read, also one that is not even JSON", async () => {
  await using limited = await startGraphqlFixture({ typeDefs, resolvers, env: { RATE_LIMITS: "on" } });
  const rateLimits = { read: { perSecond: 0.01, burst: 1 } };
  const key = { organizationId: null, name: "operator", createdBy: "test", rateLimits };
  const own = { "x-api-key": (await limited.keys.create(key)).text };
  const first = await limited.post("not even JSON", own);
  expect(first.status).toBe(400);
  expect(first.headers.get("ratelimit-policy")).toBe('"read";q=1;w=100');
  const second = await limited.post("not even JSON", own);
  expect(second.status).toBe(429);
  expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(codesOf(second)).toEqual(["RATE_LIMITED"]);
});

const preflight = (server: GraphqlFixture, origin: string): Promise<{ headers: Headers }> =>
  server.request("/graphql", {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-api-key",
    },
  });

describe("CORS", () => {
  it("allows Apollo's hosted Sandbox outside production, and no other origin", async () => {
    const studio = await preflight(rig, "https://studio.apollographql.com");
    expect(studio.headers.get("access-control-allow-origin")).toBe("https://studio.apollographql.com");
    const other = await preflight(rig, "https://example.com");
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
    const rest = await rig.request("/v1/jobs", { headers: { origin: "https://studio.apollographql.com" } });
    expect(rest.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("allows the configured origins in production", async () => {
    const named = await preflight(production, "https://app.example.com");
    expect(named.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    const studio = await preflight(production, "https://studio.apollographql.com");
    expect(studio.headers.get("access-control-allow-origin")).toBeNull();
  });
});
