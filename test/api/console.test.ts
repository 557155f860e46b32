/** Serving the built console: its page on all paths that are not the API's, and its assets. */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { expectData } from "../support/app/assertions.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { openTransaction } from "../support/database/blocked-sessions.ts";
import { buildSite } from "../support/site.ts";

const html = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

await buildSite();
const app = await sharedApp("api");
const names = await readdir(new URL("../../.site/console/assets/", import.meta.url));
const script = `/assets/${names.find((name) => /^index-.+\.js$/.test(name))!}`;

async function open(path: string, init: RequestInit = { headers: html }) {
  const response = await fetch(app.url + path, init);
  return { status: response.status, headers: response.headers, body: await response.text() };
}

function directives(headers: Headers): Map<string, string> {
  const policy = headers.get("content-security-policy") ?? "";
  return new Map(
    policy.split("; ").map((directive) => {
      const [name = "", ...values] = directive.split(" ");
      return [name, values.join(" ")];
    }),
  );
}

describe("a browser", () => {
  it.each(["/", "/jobs", "/jobs/WM%2F1", "/operator/requests", "/register", "/nowhere/at/all"])(
    "gets the console at %s",
    async (path) => {
      const { status, headers, body } = await open(path);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(body).toContain('<div id="root">');
      expect(body).toContain('<base href="/"');
    },
  );

  // evidence: console-content-security-policy
  it("gets a policy that allows only this origin, and inline code only with the nonce of the response", async () => {
    const [first, second] = [await open("/"), await open("/")];
    const policy = directives(first.headers);
    const nonce = /'nonce-([^']+)'/.exec(policy.get("script-src") ?? "")?.[1];

    expect(nonce).toMatch(/^[\w+/]{22}==$/);
    expect(policy.get("default-src")).toBe("'none'");
    expect(policy.get("script-src")).toBe(`'self' 'nonce-${nonce}'`);
    expect(policy.get("style-src")).toBe(`'self' 'nonce-${nonce}'`);
    expect(policy.get("connect-src")).toBe("'self'");
    expect(policy.get("frame-ancestors")).toBe("'none'");
    expect([...policy.values()].join(" ")).not.toMatch(/unsafe|\*|https?:/);
    expect(directives(second.headers).get("script-src")).not.toBe(policy.get("script-src"));

    const scripts = [...first.body.matchAll(/<script[^>]*>/g)].map(([tag]) => tag);
    expect(scripts.length).toBeGreaterThan(0);
    expect(scripts.filter((tag) => !tag.includes(`nonce="${nonce}"`))).toEqual([]);
    expect(first.body).not.toContain("WAYMARK_NONCE");
  });

  it("can use HEAD", async () => {
    const { status, headers, body } = await open("/jobs", { method: "HEAD", headers: html });
    expect([status, body]).toEqual([200, ""]);
    expect(headers.get("content-type")).toContain("text/html");
  });

  it.each([
    "/v1/nothing",
    "/v1",
    "/auth/nothing",
    "/health/nothing",
    "/docs/nothing",
    "/console-api/nothing",
    "/assets/",
  ])("gets 404 in the envelope for the unknown API path %s", async (path) => {
    const { status, body } = await open(path);
    expect([status, JSON.parse(body).success]).toEqual([404, false]);
  });

  it("gets the API's own pages", async () => {
    expect((await open("/docs")).body).toContain("Waymark API reference");
    expect(JSON.parse((await open("/openapi.json")).body).openapi).toMatch(/^3\.1/);
  });
});

describe("a program", () => {
  it.each([{ accept: "application/json" }, { accept: "*/*" }, {}])(
    "that accepts %o gets the envelope at /",
    async (headers) => {
      const { status, body } = await open("/", { headers });
      expect(status).toBe(404);
      expect(JSON.parse(body).error.code).toBe("NotFoundException");
    },
  );

  it("gets the envelope for POST with any Accept header", async () => {
    const { status, body } = await open("/jobs", { method: "POST", headers: html });
    expect([status, JSON.parse(body).error.code]).toEqual([404, "NotFoundException"]);
  });
});

describe("the console's files", () => {
  it("are cached for ever, because their names change with their content", async () => {
    const { status, headers } = await open(script, {});
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(headers.get("vary")).toContain("Accept-Encoding");
  });

  it.each([
    ["br", brotliDecompressSync],
    ["gzip", gunzipSync],
  ] as const)("are compressed: %s", async (encoding, unpack) => {
    const plain = await fetch(app.url + script, { headers: { "accept-encoding": "identity" } });
    // `fetch` would decompress it.
    const request = get(app.url + script, { headers: { "accept-encoding": encoding } });
    const [packed] = (await once(request, "response")) as [IncomingMessage];

    expect(packed.headers["content-encoding"]).toBe(encoding);
    expect(unpack(await buffer(packed)).equals(Buffer.from(await plain.arrayBuffer()))).toBe(true);
    expect(plain.headers.get("content-encoding")).toBeNull();
  });

  it.each([
    "/assets/nothing.js",
    "/assets/..%2Findex.html",
    "/assets/..%2F..%2Fpackage.json",
    "/assets/%00.js",
    "/assets/fingerprint",
  ])("give no access to %s", async (path) => {
    const { status, body } = await open(path);
    expect([status, JSON.parse(body).success]).toEqual([404, false]);
  });
});

describe("the page", () => {
  it("has the path of PUBLIC_URL as its base", async () => {
    const env = { WAYMARK_ROLE: "api", PUBLIC_URL: "https://example.com/waymark" };
    await using prefixed = await startAppInstance(app.databaseUrl, env);
    const page = await (await fetch(`${prefixed.url}/jobs`, { headers: html })).text();
    expect(page).toContain('<base href="/waymark/"');
  });

  it.each([
    ["a user", "/auth/session", (cookie: string) => cookie],
    ["no user", null, () => ""],
    ["an unknown session", null, (cookie: string) => cookie.replace(/=./, "=~")],
  ])("contains the session of %s, as data", async (_who, same, cookieOf) => {
    const agent = await app.createOrganization("agent");
    const { client } = await createSignedInUser(app, agent.id);
    expectData(await client.send("PATCH", "/auth/profile", { name: "</script><script>alert(1)</script>" }));
    const cookie = cookieOf(client.cookie);
    const { body } = await open("/jobs", { headers: { ...html, cookie } });
    const [, json = ""] =
      /<script [^>]*type="application\/json" id="session">(.*?)<\/script>/.exec(body) ?? [];
    expect(JSON.parse(json)).toEqual(same === null ? null : expectData(await client.get(same)));
    expect(body).not.toContain("<script>alert");
  });

  it("comes without a session if PostgreSQL does not return it within two seconds", async () => {
    await using own = await startTestApp({ WAYMARK_ROLE: "api" });
    const { client } = await createSignedInUser(own, (await own.createOrganization("agent")).id);
    const lock = await openTransaction(own.database, sql`lock table user_session in access exclusive mode`);
    const headers = { ...html, cookie: client.cookie };
    try {
      const refused = fetch(`${own.url}/auth/session`, { headers });
      const page = fetch(`${own.url}/jobs`, { headers });
      expect(await Promise.race([refused.then(() => "session"), page.then(() => "page")])).toBe("page");
      expect(await (await page).text()).not.toContain('id="session"');
      await refused;
    } finally {
      await lock.commit();
    }
  });

  it("does not exist on a worker", async () => {
    await using worker = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "worker" });
    expect((await fetch(`${worker.url}/`, { headers: html })).status).toBe(404);
    expect((await fetch(worker.url + script)).status).toBe(404);
  });
});
