/** Checks of the WebSocket handshake: the client's IP address and the Origin header. */
import type { IncomingMessage } from "node:http";
import express, { type Request } from "express";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createClientIpResolver,
  createOriginCheck,
} from "../../../src/api/graphql/subscriptions/handshake.ts";

const requestOf = (headers: Record<string, string>, remoteAddress = "127.0.0.1"): IncomingMessage =>
  ({ headers, socket: { remoteAddress } }) as unknown as IncomingMessage;

/** Returns the client's IP address as Express resolves it. */
function ipByExpress(trust: number | readonly string[], request: IncomingMessage): string | undefined {
  const app = express();
  app.set("trust proxy", trust);
  return (Object.assign(Object.create(app.request) as Request, request, { app }) as Request).ip;
}

describe("createClientIpResolver", () => {
  const addresses = fc.constantFrom(
    "10.0.0.1",
    "10.9.9.9",
    "203.0.113.7",
    "::ffff:10.0.0.2",
    "2001:db8::1",
    "nonsense",
    "",
  );
  const trusts = fc.constantFrom<number | string[]>(
    0,
    1,
    2,
    10,
    ["10.0.0.0/8"],
    ["203.0.113.7", "2001:db8::/32"],
  );

  it("returns the same IP address as Express", () => {
    fc.assert(
      fc.property(trusts, addresses, fc.array(addresses), (trust, remote, forwarded) => {
        const headers = forwarded.length > 0 ? { "x-forwarded-for": forwarded.join(" , ") } : {};
        const request = requestOf(headers, remote || "127.0.0.1");
        expect(createClientIpResolver(trust)(request)).toBe(ipByExpress(trust, request));
      }),
    );
  });

  // evidence: forwarded-for-trusted-proxies-only
  it("uses X-Forwarded-For only from trusted proxies", () => {
    const request = requestOf({ "x-forwarded-for": "1.1.1.1, 2.2.2.2" }, "3.3.3.3");
    expect(createClientIpResolver(0)(request)).toBe("3.3.3.3");
    expect(createClientIpResolver(1)(request)).toBe("2.2.2.2");
    expect(createClientIpResolver(["3.3.3.3", "2.2.2.2"])(request)).toBe("1.1.1.1");
  });
});

describe("createOriginCheck", () => {
  const isAllowed = createOriginCheck({
    graphqlOrigins: ["https://app.example.com"],
    publicUrl: "https://api.example.com/waymark",
  });
  const check = (origin?: string, host = "127.0.0.1:4000"): boolean =>
    isAllowed(requestOf({ host, ...(origin !== undefined && { origin }) }));

  it("allows requests without an origin, from this server's pages and from CORS origins", () => {
    expect(check()).toBe(true);
    expect(check("http://127.0.0.1:4000")).toBe(true);
    expect(check("https://api.example.com")).toBe(true);
    expect(check("https://app.example.com")).toBe(true);
  });

  // evidence: websocket-origin-rule
  it("rejects all other origins", () => {
    const others = [
      "null",
      "",
      "http://127.0.0.1:4001",
      "https://app.example.com.evil.example",
      "https://studio.apollographql.com",
    ];
    expect(others.filter((origin) => check(origin))).toEqual([]);
  });
});
