/** Checks of the WebSocket handshake: the client's IP address and the Origin header. */
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import {
  createClientIpResolver,
  createOriginCheck,
} from "../../../src/api/graphql/subscriptions/websocket-server.ts";

const requestOf = (headers: Record<string, string>, remoteAddress = "127.0.0.1"): IncomingMessage =>
  ({ headers, socket: { remoteAddress } }) as unknown as IncomingMessage;

describe("createClientIpResolver", () => {
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
