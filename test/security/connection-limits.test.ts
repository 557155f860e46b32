/** Timeouts for slow and idle connections, and limits on the number of connections. */
import { once } from "node:events";
import diagnostics from "node:diagnostics_channel";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { limitConnections } from "../../src/api/server/connection-limits.ts";
import { listen, type HttpServerOptions } from "../../src/api/server/server.ts";
import { expectEnvelope } from "../support/app/assertions.ts";
import { openRawSocket, parseLastResponse, sendBytes } from "../support/app/raw-http-client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { endSharedApps } from "../support/app/shared-app.ts";

beforeAll(endSharedApps);

const ROOM = { total: 100, perAddress: 100 };
const HEAD = "GET / HTTP/1.1\r\nHost: localhost\r\n";
const answerAll: RequestListener = (_request, response) => response.end("{}");

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

interface TestServer {
  url: string;
  /** The limits that rejected connections exceeded. */
  rejections: string[];
  /** Only the first call stops the server. */
  stop(timeoutMs?: number): Promise<void>;
}

async function serve(
  handler: RequestListener,
  options: Partial<HttpServerOptions> = {},
): Promise<TestServer> {
  const rejections: string[] = [];
  const server = await listen(handler, {
    host: "127.0.0.1",
    port: 0,
    connections: ROOM,
    onConnectionRejected: (limit) => rejections.push(limit),
    errorUrl: (code) => code,
    ...options,
  });
  let stopped: Promise<void> | null = null;
  const stop = (timeoutMs = 0): Promise<void> => (stopped ??= server.stop(timeoutMs));
  opened.push(() => stop());
  return { url: server.url, rejections, stop };
}

async function open(url: string, localAddress?: string): Promise<Socket> {
  const socket = await openRawSocket(url, localAddress);
  opened.push(async () => void socket.destroy());
  return socket;
}

/** Writes `chunk` every 5 ms until the connection is closed. Returns the received text. */
async function drip(socket: Socket, chunk: string): Promise<string> {
  const interval = setInterval(() => socket.write(chunk), 5);
  try {
    return await text(socket);
  } finally {
    clearInterval(interval);
  }
}

/** True if the server responds with 200; false if it closed the connection. */
async function isServed(socket: Socket, path = "/"): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once("data", (bytes) => resolve(bytes.toString("latin1").startsWith("HTTP/1.1 200")));
  socket.once("close", () => resolve(false));
  if (socket.destroyed) resolve(false);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return await promise;
}

describe("a slow client", () => {
  const shortTimeouts = { timeouts: { headers: 60, checkInterval: 10 } };

  // evidence: idle-connection-closed
  it("is disconnected if it sends nothing", async () => {
    const { url } = await serve(answerAll, shortTimeouts);
    const socket = await open(url);
    expect(parseLastResponse(await text(socket)).status).toBe(408);
  });

  it("does not delay a stop by an idle connection", async () => {
    const server = await serve(answerAll, { timeouts: { headers: 600_000 } });
    const socket = await open(server.url);
    const [brought] = await Promise.all([text(socket), server.stop(600_000)]);
    expect(brought).toBe("");
  });

  // evidence: slow-headers-408
  it("gets 408 for headers sent too slowly, even if bytes keep coming", async () => {
    const { url } = await serve(answerAll, shortTimeouts);
    const socket = await open(url);
    socket.write(HEAD);
    const answer = parseLastResponse(await drip(socket, "x: 1\r\n"));
    expectEnvelope(answer);
    expect(answer.status).toBe(408);
  });

  // evidence: slow-headers-keep-alive-408
  it("gets 408 for slow headers of a later request on the same connection", async () => {
    const { url } = await serve(answerAll, shortTimeouts);
    const socket = await open(url);
    socket.write(`${HEAD}\r\n`);
    await once(socket, "data");
    socket.write(HEAD);
    expect(parseLastResponse(await drip(socket, "x: 1\r\n")).status).toBe(408);
  });

  // evidence: slow-body-408
  it("gets 408 for a body sent too slowly", async () => {
    const { url } = await serve(() => undefined, { timeouts: { request: 60 } });
    const socket = await open(url);
    socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
    const answer = parseLastResponse(await drip(socket, "x"));
    expectEnvelope(answer);
    expect(answer.status).toBe(408);
  });

  // evidence: stalled-connection-closed
  it("is disconnected when no bytes move, even in the middle of a response", async () => {
    const { url } = await serve((_request, response) => void response.write("begun"), {
      timeouts: { idleSocket: 60 },
    });
    const received = await sendBytes(url, `${HEAD}\r\n`);
    expect(received).toContain("begun");
  });
});

/** Returns the numbers that match `pattern` in the row of docs/engineering/security.md that starts with `limit`. */
async function documentedNumbers(limit: string, pattern: RegExp): Promise<number[]> {
  const page = await readFile(join(import.meta.dirname, "../../docs/engineering/security.md"), "utf8");
  const row = page.split("\n").find((line) => line.startsWith(`| ${limit}`)) ?? "";
  const numbers = pattern.exec(row.split(" | ")[1] ?? "")?.slice(1) ?? [];
  return numbers.map((number) => Number(number.replaceAll(",", "")));
}

/** Fakes the timers of our own code. Those of node:http and of sockets keep running. */
const fakeOurTimers = (): void => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

describe("default timeouts and limits", () => {
  const SLOW_BODY = "A body sent slowly";
  const UNREAD_RESPONSE = "A response that the client does not read";
  afterEach(() => vi.useRealTimers());

  // evidence: server-timeouts-documented
  it("of the HTTP server match docs/engineering/security.md", async () => {
    await using app = await startTestApp();
    const seen = Promise.withResolvers<Server>();
    const onRequest = (message: unknown): void => {
      const { request, server } = message as { request: { url: string }; server: Server };
      if (request.url === "/health/live?timeouts") seen.resolve(server);
    };
    diagnostics.subscribe("http.server.request.start", onRequest);
    try {
      await app.request("/health/live?timeouts");
    } finally {
      diagnostics.unsubscribe("http.server.request.start", onRequest);
    }
    const server = await seen.promise;
    const { headersTimeout, requestTimeout, maxConnections, timeout } = server;
    const { connectionsCheckingInterval } = server as Server & { connectionsCheckingInterval: number };
    const [headers, interval] = await documentedNumbers("Idle connections", /(\d+) s, .* every (\d+) s/);
    const [total] = await documentedNumbers("Too many connections", /`MAX_CONNECTIONS` \(([\d,]+)\)/);
    const [, idle] = await documentedNumbers(UNREAD_RESPONSE, /(\d+) s .* (\d+) s without a byte/);
    expect([headersTimeout, connectionsCheckingInterval, timeout]).toEqual(
      [headers, interval, idle].map((seconds) => Number(seconds) * 1_000),
    );
    expect(maxConnections).toBe(total);
    // The timeout of an import, which the page writes out in words.
    expect(requestTimeout).toBe(3_600_000);
  });

  // evidence: connection-limit-documented
  it("of one IP address match docs/engineering/security.md", async () => {
    const [perAddress] = await documentedNumbers("Too many connections", /_PER_ADDRESS` \(([\d,]+);/);
    expect(toConfig(readEnv({})).http.connections).toMatchObject({ perAddress });
  });

  // evidence: slow-body-timeout-documented
  it("end a slow body exactly after the time in docs/engineering/security.md", async () => {
    const begun = Promise.withResolvers<void>();
    const { url } = await serve(() => begun.resolve());
    fakeOurTimers();
    const socket = await open(url);
    socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx");
    await begun.promise;
    const [timeoutS = 0] = await documentedNumbers(SLOW_BODY, /^(\d+) s/);
    await vi.advanceTimersByTimeAsync(timeoutS * 1_000 - 1);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(parseLastResponse(await text(socket)).status).toBe(408);
  });

  // evidence: unread-response-closed, unread-response-timeout-documented
  it("end an unread response exactly after the time in docs/engineering/security.md", async () => {
    const answered = Promise.withResolvers<ServerResponse>();
    const { url } = await serve((_request, response) => {
      response.once("prefinish", () => answered.resolve(response));
      response.end(Buffer.alloc(32 * 1024 * 1024));
    });
    fakeOurTimers();
    const socket = await open(url);
    socket.pause();
    socket.write(`${HEAD}\r\n`);
    const response = await answered.promise;
    const [timeoutS = 0] = await documentedNumbers(UNREAD_RESPONSE, /^(\d+) s once it is written/);
    await vi.advanceTimersByTimeAsync(timeoutS * 1_000 - 1);
    expect(response.closed).toBe(false);
    const closed = once(response, "close");
    await vi.advanceTimersByTimeAsync(1);
    await closed;
    expect(response.writableFinished).toBe(false);
  });
});

describe("many connections", () => {
  // evidence: connection-limit-total
  it("beyond the total are closed immediately; closing one admits another", async () => {
    const { url, rejections } = await serve(answerAll, { connections: { total: 3, perAddress: 3 } });
    const standing = [await open(url), await open(url), await open(url)];
    const beyond = await open(url);
    expect(await isServed(beyond)).toBe(false);
    expect(rejections).toEqual(["total"]);
    for (const socket of standing) expect(await isServed(socket)).toBe(true);
    standing[0]?.destroy();
    await expect.poll(async () => await isServed(await open(url))).toBe(true);
  });

  // evidence: connection-limit-per-ip
  it.runIf(process.platform === "linux")(
    "of one IP address at its limit do not keep other IP addresses out",
    async () => {
      const { url, rejections } = await serve(answerAll, { connections: { total: 10, perAddress: 2 } });
      const hoarded = [await open(url, "127.0.0.2"), await open(url, "127.0.0.2")];
      const beyond = await open(url, "127.0.0.2");
      expect(await isServed(beyond)).toBe(false);
      expect(rejections).toEqual(["ip_address"]);
      expect(await isServed(await open(url, "127.0.0.3"))).toBe(true);
      hoarded[0]?.destroy();
      await expect.poll(async () => await isServed(await open(url, "127.0.0.2"))).toBe(true);
    },
  );

  // evidence: connection-limit-ipv6-network
  it("from one IPv6 /64 count as one IP address", async () => {
    const rejections: string[] = [];
    const server = createServer();
    limitConnections(server, { total: 10, perAddress: 2 }, (bound) => rejections.push(bound));
    const connect = (remoteAddress: string): Socket => {
      const socket = new Socket();
      Object.defineProperty(socket, "remoteAddress", { value: remoteAddress });
      server.emit("connection", socket);
      return socket;
    };
    const first = connect("2001:db8:0:7::1");
    connect("2001:db8:0:7::2");
    expect(connect("2001:db8:0:7:ffff::3").destroyed).toBe(true);
    expect(rejections).toEqual(["ip_address"]);
    expect(connect("2001:db8:0:8::1").destroyed).toBe(false);
    const closed = once(first, "close");
    first.destroy();
    await closed;
    expect(connect("2001:db8:0:7::4").destroyed).toBe(false);
  });

  describe("to the whole service", () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startTestApp({ MAX_CONNECTIONS: "6", MAX_CONNECTIONS_PER_ADDRESS: "4" });
    });
    afterAll(() => app[Symbol.asyncDispose]());

    // evidence: connection-limit-settings
    it("follow MAX_CONNECTIONS and MAX_CONNECTIONS_PER_ADDRESS, and rejections are counted", async () => {
      const sockets: Socket[] = [];
      for (let count = 0; count < 6; count += 1) sockets.push(await open(app.url));
      const served = await Promise.all(sockets.map((socket) => isServed(socket, "/health/live")));
      expect(served).toEqual([true, true, true, true, false, false]);
      for (const socket of sockets) socket.destroy();
      // The metrics request itself may be rejected while those connections are still closing.
      await expect
        .poll(async () => (await app.request("/metrics")).text)
        .toMatch(/waymark_http_connections_rejected_total\{limit="ip_address"\} [2-9]/);
    });

    // evidence: pipelined-requests-in-order
    it("answer a thousand pipelined requests in order", async () => {
      const paths = Array.from({ length: 1_000 }, (_, index) =>
        index % 2 === 0 ? "/health/live" : "/v1/jobs",
      );
      const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`);
      const received = await sendBytes(app.url, `${requests.join("\r\n")}Connection: close\r\n\r\n`);
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
      expect(statuses).toHaveLength(paths.length);
      // Load shedding may answer 503.
      for (const [index, path] of paths.entries())
        expect(path === "/v1/jobs" ? ["401", "503"] : ["200"]).toContain(statuses[index]);
    });
  });
});
