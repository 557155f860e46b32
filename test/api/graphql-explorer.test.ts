import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGraphqlFixture, type GraphqlFixture } from "../support/graphql/server.fixture.ts";

const typeDefs = "type Query { word: String }";
const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const KEY = "wmk_demo0000_key";

let rig: GraphqlFixture;
let production: GraphqlFixture;

beforeAll(async () => {
  rig = await startGraphqlFixture({ typeDefs });
  rig.setExplorerKey(KEY);
  production = await startGraphqlFixture({ typeDefs, env: { NODE_ENV: "production" } });
  production.setExplorerKey(KEY);
});
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await production[Symbol.asyncDispose]();
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
      expect(asset.headers.get("cache-control")).toContain("immutable");
      expect(asset.headers.get("content-type")).toMatch(/javascript|css/);
    }
  });

  it("returns 404 for other files and 405 for other methods", async () => {
    expect((await rig.request("/graphiql/assets/x/../../package.json")).status).toBe(404);
    expect((await rig.request("/graphiql/assets/x/secret.js")).status).toBe(404);
    const post = await rig.request("/graphiql", { method: "POST" });
    expect(post.status).toBe(405);
    expect(post.headers.get("allow")).toBe("GET, HEAD");
  });
});
