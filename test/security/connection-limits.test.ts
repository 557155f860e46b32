/** Connections that bring nothing, bring it drop by drop, take nothing, or are simply many: what each may cost is bounded. */
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
import { limitConnections } from "../../src/http/server/connection-limits.ts";
import { listen, type HttpServerOptions } from "../../src/http/server/server.ts";
import { expectEnvelope } from "../support/app/assertions.ts";
import { openRawSocket, parseLastResponse, sendBytes } from "../support/app/raw-http-client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";

const ROOM = { total: 100, perAddress: 100 };
const HEAD = "GET / HTTP/1.1\r\nHost: x\r\n";
const answerAll: RequestListener = (_request, response) => response.end("{}");

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

interface Served {
  url: string;
  refused: string[];
  /** The first call counts. */
  stop(timeoutMs?: number): Promise<void>;
}

async function serve(handler: RequestListener, door: Partial<HttpServerOptions> = {}): Promise<Served> {
  const refused: string[] = [];
  const server = await listen(handler, {
    host: "127.0.0.1",
    port: 0,
    connections: ROOM,
    onConnectionRejected: (bound) => refused.push(bound),
    ...door,
  });
  let stopped: Promise<void> | null = null;
  const stop = (timeoutMs = 0): Promise<void> => (stopped ??= server.stop(timeoutMs));
  opened.push(() => stop());
  return { url: server.url, refused, stop };
}

async function open(url: string, localAddress?: string): Promise<Socket> {
  const socket = await openRawSocket(url, localAddress);
  opened.push(async () => void socket.destroy());
  return socket;
}

/** Writes `drop` again and again until the connection is closed; answers with all that came back. */
async function drip(socket: Socket, drop: string): Promise<string> {
  const dripping = setInterval(() => socket.write(drop), 5);
  try {
    return await text(socket);
  } finally {
    clearInterval(dripping);
  }
}

/** Whether the server answers on this connection; else it has closed it. */
async function isServed(socket: Socket, path = "/"): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once("data", (bytes) => resolve(bytes.toString("latin1").startsWith("HTTP/1.1 200")));
  socket.once("close", () => resolve(false));
  if (socket.destroyed) resolve(false);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return await promise;
}

describe("slowness", () => {
  const shortTimeouts = { timeouts: { headers: 60, checkInterval: 10 } };

  // evidence: idle-connection-closed
  it("a connection that sends nothing is closed", async () => {
    const { url } = await serve(answerAll, shortTimeouts);
    const socket = await open(url);
    expect(parseLastResponse(await text(socket)).status).toBe(408);
  });

  it("a connection that sends nothing does not hold up a stop", async () => {
    const server = await serve(answerAll, { timeouts: { headers: 600_000 } });
    const socket = await open(server.url);
    const [brought] = await Promise.all([text(socket), server.stop(600_000)]);
    expect(brought).toBe("");
  });

  // evidence: slow-headers-408
  it("headers that come drop by drop are answered with 408, however steadily they come", async () => {
    const { url } = await serve(answerAll, shortTimeouts);
    const socket = await open(url);
    socket.write(HEAD);
    const answer = parseLastResponse(await drip(socket, "x: 1\r\n"));
    expectEnvelope(answer);
    expect(answer.status).toBe(408);
  });

  // evidence: slow-headers-keep-alive-408
  it("headers that come drop by drop on a connection that was of use before are no better", async () => {
    const { url } = await serve(answerAll, shortTimeouts);
    const socket = await open(url);
    socket.write(`${HEAD}\r\n`);
    await once(socket, "data");
    socket.write(HEAD);
    expect(parseLastResponse(await drip(socket, "x: 1\r\n")).status).toBe(408);
  });

  // evidence: slow-body-408
  it("a body that comes drop by drop is answered with 408", async () => {
    const { url } = await serve(() => undefined, { timeouts: { request: 60 } });
    const socket = await open(url);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    const answer = parseLastResponse(await drip(socket, "x"));
    expectEnvelope(answer);
    expect(answer.status).toBe(408);
  });

  // evidence: unread-response-closed
  it("an answer that nobody takes is let go", async () => {
    const answers: ServerResponse[] = [];
    const closed = Promise.withResolvers<void>();
    const handler: RequestListener = (_request, response) => {
      answers.push(response);
      response.once("close", closed.resolve);
      response.end(Buffer.alloc(32 * 1024 * 1024));
    };
    const { url } = await serve(handler, { timeouts: { response: 60 } });
    const socket = await open(url);
    socket.pause();
    socket.write(`${HEAD}\r\n`);
    await closed.promise;
    expect(answers.map(({ writableFinished }) => writableFinished)).toEqual([false]);
  });

  it("an answer that is taken, however large, is whole", async () => {
    const { url } = await serve((_request, response) => response.end(Buffer.alloc(8 * 1024 * 1024)), {
      timeouts: { response: 30_000 },
    });
    const received = await sendBytes(url, `${HEAD}Connection: close\r\n\r\n`);
    expect(received.length - received.indexOf("\r\n\r\n") - 4).toBe(8 * 1024 * 1024);
  });

  // evidence: stalled-connection-closed
  it("a connection on which nothing moves is cut, also in the middle of an answer", async () => {
    const { url } = await serve((_request, response) => void response.write("begun"), {
      timeouts: { idleSocket: 60 },
    });
    const received = await sendBytes(url, `${HEAD}\r\n`);
    expect(received).toContain("begun");
  });
});

/** The numbers that docs/security.md says of a bound, in their order. */
async function documented(bound: string, wanted: RegExp): Promise<number[]> {
  const page = await readFile(join(import.meta.dirname, "../../docs/security.md"), "utf8");
  const row = page.split("\n").find((line) => line.startsWith(`| ${bound}`)) ?? "";
  const numbers = wanted.exec(row.split(" | ")[1] ?? "")?.slice(1) ?? [];
  return numbers.map((number) => Number(number.replaceAll(",", "")));
}

/** Those of our own code alone: the timers of node:http and of sockets go on as ever. */
const stopOurTimers = (): void => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

describe("the patience of the service, where no test has set it", () => {
  const BODY = "A body sent slowly";
  const ANSWER = "A response that the client does not read";
  afterEach(() => vi.useRealTimers());

  // evidence: server-timeouts-documented
  it("is what docs/security.md says of the server itself", async () => {
    await using app = await startTestApp();
    const seen = Promise.withResolvers<Server>();
    const look = (message: unknown): void => {
      const { request, server } = message as { request: { url: string }; server: Server };
      if (request.url === "/health/live?patience") seen.resolve(server);
    };
    diagnostics.subscribe("http.server.request.start", look);
    try {
      await app.request("/health/live?patience");
    } finally {
      diagnostics.unsubscribe("http.server.request.start", look);
    }
    const server = await seen.promise;
    const { headersTimeout, requestTimeout, maxConnections, timeout } = server;
    const { connectionsCheckingInterval } = server as Server & { connectionsCheckingInterval: number };
    const [headers, looks] = await documented("Idle connections", /(\d+) s, .* every (\d+) s/);
    const [total] = await documented("Too many connections", /`MAX_CONNECTIONS` \(([\d,]+)\)/);
    const [, silence] = await documented(ANSWER, /(\d+) s .* (\d+) s without a byte/);
    expect([headersTimeout, connectionsCheckingInterval, timeout]).toEqual(
      [headers, looks, silence].map((seconds) => Number(seconds) * 1_000),
    );
    expect(maxConnections).toBe(total);
    // An import's: the page has it in a word.
    expect(requestTimeout).toBe(3_600_000);
  });

  // evidence: connection-limit-documented
  it("is what docs/security.md says of one address", async () => {
    const [each] = await documented("Too many connections", /_PER_ADDRESS` \(([\d,]+);/);
    expect(toConfig(readEnv({})).http.connections).toMatchObject({ perAddress: each });
  });

  // evidence: slow-body-timeout-documented
  it("ends for a body after as long as docs/security.md says, and no sooner", async () => {
    const begun = Promise.withResolvers<void>();
    const { url } = await serve(() => begun.resolve());
    stopOurTimers();
    const socket = await open(url);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx");
    await begun.promise;
    const [patience = 0] = await documented(BODY, /^(\d+) s/);
    await vi.advanceTimersByTimeAsync(patience * 1_000 - 1);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(parseLastResponse(await text(socket)).status).toBe(408);
  });

  // evidence: unread-response-timeout-documented
  it("ends for an answer after as long as docs/security.md says, and no sooner", async () => {
    const answered = Promise.withResolvers<ServerResponse>();
    const { url } = await serve((_request, response) => {
      response.once("prefinish", () => answered.resolve(response));
      response.end(Buffer.alloc(32 * 1024 * 1024));
    });
    stopOurTimers();
    const socket = await open(url);
    socket.pause();
    socket.write(`${HEAD}\r\n`);
    const response = await answered.promise;
    const [patience = 0] = await documented(ANSWER, /^(\d+) s once it is written/);
    await vi.advanceTimersByTimeAsync(patience * 1_000 - 1);
    expect(response.closed).toBe(false);
    const closed = once(response, "close");
    await vi.advanceTimersByTimeAsync(1);
    await closed;
    expect(response.writableFinished).toBe(false);
  });
});

describe("many", () => {
  // evidence: connection-limit-total
  it("connections beyond the total are closed at once, those that stand are served, and one that goes makes room", async () => {
    const { url, refused } = await serve(answerAll, { connections: { total: 3, perAddress: 3 } });
    const standing = [await open(url), await open(url), await open(url)];
    const beyond = await open(url);
    expect(await isServed(beyond)).toBe(false);
    expect(refused).toEqual(["total"]);
    for (const socket of standing) expect(await isServed(socket)).toBe(true);
    standing[0]?.destroy();
    await expect.poll(async () => await isServed(await open(url))).toBe(true);
  });

  // evidence: connection-limit-per-ip
  it.runIf(process.platform === "linux")(
    "one address that holds all it may keeps no other address out",
    async () => {
      const { url, refused } = await serve(answerAll, { connections: { total: 10, perAddress: 2 } });
      const hoarded = [await open(url, "127.0.0.2"), await open(url, "127.0.0.2")];
      const beyond = await open(url, "127.0.0.2");
      expect(await isServed(beyond)).toBe(false);
      expect(refused).toEqual(["ip_address"]);
      expect(await isServed(await open(url, "127.0.0.3"))).toBe(true);
      hoarded[0]?.destroy();
      await expect.poll(async () => await isServed(await open(url, "127.0.0.2"))).toBe(true);
    },
  );

  // evidence: connection-limit-ipv6-network
  it("counts the addresses of one IPv6 /64 as one address", async () => {
    const refused: string[] = [];
    const server = createServer();
    limitConnections(server, { total: 10, perAddress: 2 }, (bound) => refused.push(bound));
    const connect = (remoteAddress: string): Socket => {
      const socket = new Socket();
      Object.defineProperty(socket, "remoteAddress", { value: remoteAddress });
      server.emit("connection", socket);
      return socket;
    };
    const first = connect("2001:db8:0:7::1");
    connect("2001:db8:0:7::2");
    expect(connect("2001:db8:0:7:ffff::3").destroyed).toBe(true);
    expect(refused).toEqual(["ip_address"]);
    expect(connect("2001:db8:0:8::1").destroyed).toBe(false);
    const closed = once(first, "close");
    first.destroy();
    await closed;
    expect(connect("2001:db8:0:7::4").destroyed).toBe(false);
  });

  describe("of the service itself", () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startTestApp({ MAX_CONNECTIONS: "6", MAX_CONNECTIONS_PER_ADDRESS: "4" });
    });
    afterAll(() => app[Symbol.asyncDispose]());

    // evidence: connection-limit-settings
    it("the settings hold, and what was refused is counted", async () => {
      const sockets: Socket[] = [];
      for (let count = 0; count < 6; count += 1) sockets.push(await open(app.url));
      const served = await Promise.all(sockets.map((socket) => isServed(socket, "/health/live")));
      expect(served).toEqual([true, true, true, true, false, false]);
      for (const socket of sockets) socket.destroy();
      // The question itself may be one too many, while those connections are still closing.
      await expect
        .poll(async () => await (await app.request("/metrics")).text())
        .toMatch(/waymark_http_connections_rejected_total\{limit="ip_address"\} [2-9]/);
    });

    // evidence: pipelined-requests-in-order
    it("a thousand requests at once on one connection are answered one after the other, in order", async () => {
      const asked = Array.from({ length: 1_000 }, (_, at) => (at % 2 === 0 ? "/health/live" : "/v1/jobs"));
      const requests = asked.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n`);
      const received = await sendBytes(app.url, `${requests.join("\r\n")}Connection: close\r\n\r\n`);
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
      expect(statuses).toHaveLength(asked.length);
      // 503: more than it can do at once, of one caller.
      for (const [at, path] of asked.entries())
        expect(path === "/v1/jobs" ? ["401", "503"] : ["200"]).toContain(statuses[at]);
    });
  });
});
