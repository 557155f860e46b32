/** The security headers of all responses in production, including errors of the router, the body parser and the HTTP parser. */
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestUser, signIn } from "../support/accounts/session-client.ts";
import { routeCases } from "../support/app/route-cases.ts";
import { openRawSocket } from "../support/app/raw-http-client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let operator: string;

beforeAll(async () => {
  app = await startTestApp({ NODE_ENV: "production" });
  const person = await createTestUser(app, { organizationId: null, role: "operator" });
  ({ cookie: operator } = await signIn(app, person));
});
afterAll(() => app[Symbol.asyncDispose]());

interface RequestOptions {
  method?: string;
  headers?: string[];
  body?: string;
}

/** Returns the headers by lower-case name. Read from the raw bytes, so that no HTTP client merges or hides any. */
async function headersOf(path: string, { method = "GET", headers = [], body = "" }: RequestOptions = {}) {
  const socket = await openRawSocket(app.url);
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost", "Connection: close", ...length, ...headers];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  const [head = ""] = (await text(socket)).split("\r\n\r\n", 1);
  const pairs = head
    .split("\r\n")
    .slice(1)
    .map(
      (line) =>
        [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()] as const,
    );
  return {
    status: Number(head.split(" ")[1]),
    pairs,
    get: (name: string) => pairs.find(([each]) => each === name)?.[1],
  };
}

const html = "Accept: text/html";
const json = "Content-Type: application/json";
const answers: [name: string, path: string, asked?: RequestOptions][] = [
  ...routeCases.map(({ method, path }): [string, string, RequestOptions] => [
    `${method} ${path}`,
    path,
    { method },
  ]),
  ["the console's page", "/", { headers: [html] }],
  ["a page of the console that does not exist", "/nowhere/at/all", { headers: [html] }],
  ["a console asset that does not exist", "/assets/none.js"],
  ["GraphQL", "/graphql", { method: "POST", headers: [json], body: '{"query":"{ viewer { id } }"}' }],
  ["GraphQL without an operation", "/graphql"],
  ["GraphiQL", "/graphiql"],
  ["the operators' task dashboard, not signed in", "/operator/agenda/"],
  ["an unknown route", "/v1/none"],
  ["an unknown method", "/v1/jobs", { method: "TRACE" }],
  [
    "a preflight",
    "/v1/jobs",
    {
      method: "OPTIONS",
      headers: ["Origin: https://elsewhere.example", "Access-Control-Request-Method: GET"],
    },
  ],
  [
    "a body that is too large",
    "/auth/sign-in/email",
    { method: "POST", headers: [json, "Sec-Fetch-Site: same-origin"], body: `"${"x".repeat(20_000)}"` },
  ],
  [
    "a body that is not JSON",
    "/auth/sign-in/email",
    { method: "POST", headers: [json, "Sec-Fetch-Site: same-origin"], body: "{" },
  ],
  ["malformed HTTP", "/v1/jobs", { headers: ["no colon"] }],
  ["headers that are too large", "/v1/jobs", { headers: [`X: ${"x".repeat(20_000)}`] }],
  [
    "a WebSocket of another site's page",
    "/graphql",
    {
      headers: [
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
        "Sec-WebSocket-Version: 13",
        "Origin: https://elsewhere.example",
      ],
    },
  ],
];

/** Returns the directives of a Content-Security-Policy by name. */
function policyOf(header: string | undefined): Map<string, string> {
  const directives = (header ?? "").split(";").map((each) => each.trim().split(/\s+/));
  return new Map(directives.map(([name = "", ...values]) => [name, values.join(" ")]));
}

describe.each(answers)("%s", (name, path, asked) => {
  let answer: ReturnType<typeof headersOf>;
  beforeAll(() => void (answer = headersOf(path, asked)));

  // evidence: response-headers-nosniff
  it("forbids MIME sniffing and names no server software", async () => {
    const { get } = await answer;
    expect(get("x-content-type-options")?.toLowerCase()).toBe("nosniff");
    for (const header of ["server", "x-powered-by", "via", "x-aspnet-version"])
      expect(get(header)).toBeUndefined();
  });

  it("is not cached, unless it is the same for everyone", async () => {
    const { get } = await answer;
    const isSame = /^GET \/(openapi\.json|docs|sdk)$/.test(name);
    // Concurrent requests share one metrics response, which is not compressed per client.
    const isShared = name === "GET /metrics";
    expect(get("cache-control")).toBe(isSame ? "no-cache" : isShared ? "no-store, no-transform" : "no-store");
  });

  // evidence: response-headers-content-type
  it("has one content type, with charset UTF-8", async () => {
    const { get, pairs } = await answer;
    const type = get("content-type");
    if (get("content-length") === "0" || type === undefined) return;
    expect(type).toMatch(/^(application\/json; charset=utf-8|text\/(html|plain|css)\b.*; ?charset=utf-8)/i);
    expect(pairs.filter(([each]) => each === "content-type")).toHaveLength(1);
  });

  // evidence: response-headers-no-cors
  it("has no CORS headers for another origin", async () => {
    const { get } = await headersOf(path, {
      ...asked,
      headers: [...(asked?.headers ?? []), "Origin: https://elsewhere.example"],
    });
    expect(get("access-control-allow-origin")).toBeUndefined();
    expect(get("access-control-allow-credentials")).toBeUndefined();
  });
});

// evidence: response-headers-hsts-referrer-framing
it.each(answers.filter(([name]) => !name.startsWith("a WebSocket")))(
  "%s sets HSTS, no referrer, same-origin policies and a strict CSP without framing",
  async (_name, path, asked) => {
    const { get } = await headersOf(path, asked);
    const [, seconds = "0"] = /max-age=(\d+)/.exec(get("strict-transport-security") ?? "") ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(31_536_000);
    expect(get("strict-transport-security")).toContain("includeSubDomains");
    expect(get("referrer-policy")).toBe("no-referrer");
    expect(get("cross-origin-opener-policy")).toBe("same-origin");
    expect(get("cross-origin-resource-policy")).toBe("same-origin");
    const policy = policyOf(get("content-security-policy"));
    expect(policy.get("frame-ancestors")).toBe("'none'");
    // Applies to everything without a directive, such as plugins and workers.
    expect(policy.get("default-src")).toBe("'none'");
    expect(policy.get("base-uri")).toMatch(/^'(none|self)'$/);
    expect(policy.get("script-src") ?? "").not.toMatch(/unsafe|\*|https?:|data:|blob:/);
    expect(policy.get("connect-src") ?? "'self'").toBe("'self'");
  },
);

it("responses to signed-in users have the same headers", async () => {
  const options = { headers: [`Cookie: ${operator}`] };
  for (const path of ["/auth/session", "/operator/agenda/", "/console-api/jobs.csv"]) {
    const { get } = await headersOf(path, options);
    expect(get("cache-control")).toMatch(/no-store/);
    expect(get("x-content-type-options")).toBe("nosniff");
    expect(get("access-control-allow-origin")).toBeUndefined();
  }
});
