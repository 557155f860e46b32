/** Access to /graphql and /graphiql: keys, production, other origins and browsers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGraphqlFixture, type GraphqlFixture } from "../support/graphql/server.fixture.ts";
import { codesOf, resolvers, typeDefs } from "../support/graphql/word-schema.ts";

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const KEY = "wmk_demo0000_key";

let rig: GraphqlFixture;
let production: GraphqlFixture;

beforeAll(async () => {
  rig = await startGraphqlFixture({ typeDefs, resolvers });
  const env = { NODE_ENV: "production", CORS_ORIGINS: "https://app.example.com" };
  production = await startGraphqlFixture({ typeDefs, resolvers, env });
  for (const server of [rig, production]) server.setExplorerKey(KEY);
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

/** The page's own assets, by name. */
function addressesIn(page: string): string[] {
  return [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, address]) => String(address));
}

describe("a browser at /graphql", () => {
  it("gets Apollo Sandbox with the demo key and examples, without telemetry", async () => {
    const { status, headers, body } = await rig.request("/graphql", { headers: html });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("text/html");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(body).toContain("embeddable-sandbox");
    expect(body).toContain(`"sharedHeaders":{"x-api-key":"${KEY}"}`);
    expect(body).toContain('"runTelemetry":false');
    expect(body).toContain('"pollForSchemaUpdates":false');
    expect(body).toContain('"endpointIsEditable":false');
    expect(body).toContain("query OpenJobs");
  });

  // evidence: production-no-graphql-sandbox
  it("gets no page in production", async () => {
    const { status, headers, body } = await production.request("/graphql", { headers: html });
    expect(status).toBe(401);
    expect(headers.get("content-type")).toContain("json");
    expect(JSON.stringify(body)).not.toContain(KEY);
  });

  it("gets data if it accepts JSON", async () => {
    const { headers } = await rig.request("/graphql?query=%7B__typename%7D", {
      headers: { ...html, "apollo-require-preflight": "1" },
    });
    expect(headers.get("content-type")).toContain("json");
  });
});

describe("/graphiql", () => {
  it("has the title Waymark, the demo key and the examples", async () => {
    const { status, headers, body } = await rig.request("/graphiql", { headers: html });
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toContain("<title>Waymark GraphiQL</title>");
    expect(body).toContain(KEY);
    expect(body).toContain("query OpenJobs");
  });

  // evidence: production-no-example-key
  it("contains no key in production", async () => {
    const { status, body } = await production.request("/graphiql", { headers: html });
    expect(status).toBe(200);
    expect(body).not.toContain(KEY);
    expect(body).toContain("your key");
  });

  it("loads everything from this server, also the editor workers that page.js names", async () => {
    const { headers, body } = await rig.request("/graphiql", { headers: html });
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//);
    const addresses = addressesIn(body as string);
    expect(addresses).toHaveLength(3);
    const page = addresses.find((address) => address.endsWith("page.js")) ?? "";
    const script = await rig.request(page);
    const workers = [...(script.body as string).matchAll(/"([\w-]+-worker\.js)"/g)];
    expect(workers).toHaveLength(3);
    for (const address of [...addresses, ...workers.map(([, name = ""]) => page.replace("page.js", name))]) {
      const asset = await rig.request(address);
      expect(asset.status).toBe(200);
      expect(asset.headers.get("cache-control")).toBe("public, max-age=3600");
      expect(asset.headers.get("content-type")).toMatch(/javascript|css/);
    }
  });

  it("returns 404 for other files and 405 for other methods", async () => {
    expect((await rig.request("/graphiql/assets/../../package.json")).status).toBe(404);
    expect((await rig.request("/graphiql/assets/secret.js")).status).toBe(404);
    const post = await rig.request("/graphiql", { method: "POST" });
    expect(post.status).toBe(405);
    expect(post.headers.get("allow")).toBe("GET, HEAD");
  });
});
