/** Outside production the server answers only to names of this machine, so that no page of another site can read the demo's key. */
import { beforeAll, describe, expect, it } from "vitest";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { createHostCheck } from "../../src/core/host-check.ts";
import { sendBytes } from "../support/app/raw-http-client.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
beforeAll(async () => {
  app = await sharedApp("api");
});

/** Sends a GET with these header lines. */
const get = (path: string, ...headers: string[]): Promise<string> =>
  sendBytes(app.url, [`GET ${path} HTTP/1.1`, ...headers, "Connection: close", "", ""].join("\r\n"));

describe("a request for another name", () => {
  // evidence: dns-rebinding-refused
  it.each(["/graphiql", "/graphql", "/", "/guide/", "/auth/session"])(
    "is refused at %s, under any name of another site",
    async (path) => {
      for (const host of [
        "rebind.evil.example",
        "rebind.evil.example:4000",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
      ]) {
        const answer = await get(path, `Host: ${host}`, "Accept: text/html");
        expect(answer).toContain("HTTP/1.1 400");
        expect(answer).toContain(`does not answer to ${host}. Use localhost, or set PUBLIC_URL`);
        expect(answer).not.toContain("wmk_");
      }
    },
  );

  it("cannot open a WebSocket", async () => {
    const answer = await get(
      "/graphql",
      "Host: rebind.evil.example",
      "Origin: http://rebind.evil.example",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    );
    expect(answer).toContain("HTTP/1.1 400");
    expect(answer).toContain("does not answer to rebind.evil.example");
  });

  it("is answered for health and metrics, which monitoring asks for", async () => {
    for (const path of ["/health/live", "/health/ready", "/metrics"])
      expect(await get(path, "Host: waymark-7f9c")).toContain("HTTP/1.1 200");
  });
});

it.each(["localhost", "LOCALHOST:4000", "waymark.localhost", "127.0.0.1", "127.8.7.6:1", "[::1]:4000"])(
  "answers to %s",
  async (host) => {
    expect(await get("/graphiql", `Host: ${host}`)).toContain("HTTP/1.1 200");
  },
);

// evidence: two-hosts-refused
it("refuses two Host headers", async () => {
  const answer = await get("/graphiql", "Host: localhost", "host: localhost");
  expect(answer).toContain("HTTP/1.1 400");
  expect(answer).toContain("it has two Host headers");
});

const refuses = (host: string, env: Record<string, string>): boolean => {
  const check = createHostCheck(toConfig(readEnv(env)));
  const request = { headersDistinct: { host: [host] } };
  return check(request as unknown as Parameters<typeof check>[0]) !== null;
};

describe("the check", () => {
  it.each<[host: string, env: Record<string, string>, isRefused: boolean]>([
    ["waymark.lan", { HOST: "waymark.lan" }, false],
    ["waymark.lan", { HOST: "10.0.0.5" }, true],
    ["10.0.0.5:4000", { HOST: "10.0.0.5" }, false],
    ["10.0.0.5:4000", {}, true],
    // A URL with an address has no name that could be rebound.
    ["10.0.0.5:4000", { HOST: "0.0.0.0" }, false],
    ["evil.example", { HOST: "0.0.0.0" }, true],
    ["evil.example", { HOST: "0.0.0.0", PUBLIC_URL: "https://waymark.example" }, false],
    ["not a name", {}, true],
  ])("for %s with %j: %s", (host, env, isRefused) => {
    expect(refuses(host, env)).toBe(isRefused);
  });
});
