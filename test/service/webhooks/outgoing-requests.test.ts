import type { Socket } from "node:net";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import type { HttpClientLimits, OutgoingResult } from "../../../src/core/http-client/client.ts";
import { HttpClient } from "../../../src/core/http-client/client.ts";
import { selfSignedCertificate } from "../../support/webhooks/self-signed-certificate.ts";
import { respondWith, startTcpReceiver, type TcpReceiver } from "../../support/webhooks/tcp-receiver.ts";
import {
  startTestReceiver,
  type TestReceiver,
  type ReceiverResponder,
} from "../../support/webhooks/receiver.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";

beforeAll(endSharedApps);

const guard = new AddressGuard({ allowPrivate: true });
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS = "HTTP/1.1 103 Early Hints\r\n\r\n";
const KIB = 1024;

const opened: AsyncDisposable[] = [];
const httpWith = (limits: Partial<HttpClientLimits> = {}, ca?: string): HttpClient => {
  const http = new HttpClient({ guard, limits, ...(ca === undefined ? {} : { ca }) });
  opened.push(http);
  return http;
};
const post = (http: HttpClient, url: string, body = "{}"): Promise<OutgoingResult> =>
  http.post({ url, headers: { "content-type": "application/json" }, body });
/** Sends `head` and then single bytes slowly. `began` resolves after some bytes, which this process has also read. */
function drip(head: string) {
  const { promise: began, resolve } = Promise.withResolvers<void>();
  const respond = (_: number, socket: Socket): string => {
    let sent = 0;
    const timer = setInterval(() => {
      socket.write("x");
      if ((sent += 1) === 5) resolve();
    }, 20);
    socket.on("close", () => clearInterval(timer));
    return head;
  };
  return { respond, began };
}
/** Time limits that begin now pass only by `vi.advanceTimersByTime`. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}
const times = (count: number): unknown[] => Array.from({ length: count });

afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

describe("a response", () => {
  let receiver: TestReceiver;
  let http: HttpClient;
  beforeEach(async () => {
    receiver = await startTestReceiver();
    http = httpWith();
    opened.push(receiver);
  });
  const answered = async (respond: ReceiverResponder): Promise<OutgoingResult> => {
    receiver.respond = respond;
    return await post(http, receiver.url);
  };

  it("is returned with status, selected headers and body", async () => {
    const result = await answered(() => ({
      status: 201,
      headers: {
        "content-type": "text/plain",
        "x-request-id": "r1",
        "set-cookie": "secret=1",
        "retry-after": "7",
      },
      body: "thanks",
    }));
    expect(result).toEqual({
      kind: "response",
      status: 201,
      headers: expect.objectContaining({
        "content-type": "text/plain",
        "x-request-id": "r1",
        "retry-after": "7",
      }),
      bodyText: "thanks",
      durationMs: expect.any(Number),
    });
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  // evidence: webhook-response-not-compressed
  it("is requested without compression, and the request body is sent unchanged", async () => {
    const body = '{"town":"Tromsø 🚚"}';
    await http.post({ url: `${receiver.url}?a=b%20c`, headers: { "x-own": "1" }, body });
    const { headers, path, method, body: arrived } = await receiver.next();
    expect({ method, path, arrived }).toEqual({ method: "POST", path: "/webhooks?a=b%20c", arrived: body });
    expect(headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      connection: "keep-alive",
      "x-own": "1",
      "content-length": String(Buffer.byteLength(body)),
    });
  });

  it("keeps 4 KiB of a longer body and reuses the connection", async () => {
    const result = await answered(() => ({ body: "x".repeat(10 * KIB) }));
    expect(result).toMatchObject({ status: 200, bodyText: "x".repeat(4 * KIB) });
    await answered(() => ({ body: "y".repeat(4 * KIB) }));
    expect(await post(http, receiver.url)).toMatchObject({ bodyText: "y".repeat(4 * KIB) });
    expect(receiver.connections.opened).toBe(1);
  });

  // evidence: webhook-response-size-limit
  it("is read up to 16 KiB; then the connection is closed and the status counts", async () => {
    const result = await answered((_, response) => {
      response.writeHead(200);
      const more = (): void => void (response.writable && response.write("z".repeat(KIB), more));
      more();
      return undefined;
    });
    expect(result).toMatchObject({
      kind: "response",
      status: 200,
      bodyText: "z".repeat(4 * KIB),
    });
    await expect.poll(() => receiver.connections.open).toBe(0);
  });

  // evidence: webhook-response-text-cleaned
  it("replaces invalid UTF-8, drops U+0000 and does not split a character", async () => {
    const odd = Buffer.from([0x61, 0x00, 0xff, 0x62]);
    expect(await answered(() => ({ body: odd }))).toMatchObject({ bodyText: "a\ufffdb" });
    const cut = `${"x".repeat(4 * KIB - 1)}🚚 and more`;
    expect(await answered(() => ({ body: cut }))).toMatchObject({
      bodyText: "x".repeat(4 * KIB - 1),
    });
  });

  // evidence: webhook-redirect-not-followed
  it("that redirects is not followed", async () => {
    await using other = await startTestReceiver();
    for (const location of [other.url, "http://169.254.169.254/latest/meta-data/"])
      expect(await answered(() => ({ status: 307, headers: { location } }))).toMatchObject({
        status: 307,
        headers: { location },
      });
    expect(other.connections.opened).toBe(0);
  });

  // evidence: webhook-100-continue
  it.each<[title: string, parts: string[]]>([
    ["one", [CONTINUE + OK]],
    ["one, and the answer later", [CONTINUE, OK]],
    ["one and early hints", [CONTINUE + HINTS + OK]],
    ["one after early hints", [HINTS + CONTINUE + OK]],
    ["one in pieces", ["HT", "TP/1.1 10", "0 Continue\r\n", "\r", "\nHTTP/1.", OK.replace("HTTP/1.", "")]],
    ["none", [OK]],
  ])("after `100 Continue` is delivered: %s", async (_title, parts) => {
    const tcp = await startTcpReceiver((socket) => {
      socket.on("data", (data) => {
        // The end of the request's body.
        if (!data.toString().endsWith("}")) return;
        for (const [index, part] of parts.entries()) setTimeout(() => socket.write(part), index * 20);
      });
    });
    opened.push(tcp);
    const client = httpWith();
    // The connection is used again.
    for (let turn = 0; turn < 2; turn += 1)
      expect(await post(client, tcp.url)).toMatchObject({ kind: "response", status: 200, bodyText: "ok" });
  });
});

describe("a failed request returns", () => {
  let http: HttpClient;
  let tcp: TcpReceiver;
  beforeEach(() => {
    http = httpWith();
  });
  /** Posts, and lets the time limit pass once `moment` has resolved. */
  const postPast = async (moment: Promise<void>): Promise<OutgoingResult> => {
    stopTime();
    const result = post(http, tcp.url);
    await moment;
    vi.advanceTimersByTime(http.limits.totalMs);
    vi.useRealTimers();
    return await result;
  };
  const from = async (onConnection: Parameters<typeof startTcpReceiver>[0]): Promise<TcpReceiver> => {
    opened.push((tcp = await startTcpReceiver(onConnection)));
    return tcp;
  };
  const fromBytes = async (bytes: string): Promise<OutgoingResult> => {
    await from(respondWith(() => bytes));
    return await post(http, tcp.url);
  };

  it("connect_refused if nothing listens", async () => {
    const { url } = await from(() => undefined);
    await tcp[Symbol.asyncDispose]();
    opened.pop();
    expect(await post(http, url)).toMatchObject({
      kind: "failure",
      class: "connect_refused",
      message: expect.stringContaining("refused the connection"),
    });
  });

  it("tls if the connection stands and the TLS handshake hangs", async () => {
    const { port } = await from((socket) => socket.resume());
    const connecting = httpWith({ connectMs: 300 });
    expect(await post(connecting, `https://127.0.0.1:${port}/`)).toMatchObject({
      class: "tls",
      message: expect.stringContaining("did not answer the TLS handshake within 0.3 s"),
    });
    await expect.poll(() => tcp.connections.every(({ closed }) => closed)).toBe(true);
  });

  // evidence: webhook-tls-verified
  it("tls if the certificate is self-signed or for another name, or the port uses plain HTTP", async () => {
    await using receiver = await startTestReceiver({ tls: selfSignedCertificate });
    expect(await post(http, receiver.url)).toMatchObject({
      class: "tls",
      message: expect.stringContaining("is self-signed. Use one from a public certificate authority"),
    });
    const trusting = httpWith({}, selfSignedCertificate.cert);
    expect(await post(trusting, receiver.url)).toMatchObject({ status: 200 });
    expect(await post(trusting, `https://other.localhost:${receiver.port}/`)).toMatchObject({
      class: "tls",
      message: expect.stringContaining("is for another name"),
    });
    await using plain = await startTestReceiver();
    expect(await post(http, plain.url.replace("http:", "https:"))).toMatchObject({ class: "tls" });
    expect(receiver.received).toHaveLength(1);
  });

  // evidence: webhook-tls-error-recorded
  it("tls if the receiver closes the connection during the handshake", async () => {
    const { port } = await from((socket) => socket.once("data", () => socket.destroy()));
    expect(await post(http, `https://127.0.0.1:${port}/`)).toMatchObject({
      class: "tls",
      message: expect.stringContaining("during the TLS handshake"),
    });
  });

  it("timeout without a response", async () => {
    const asked = Promise.withResolvers<void>();
    await from(
      respondWith(() => {
        asked.resolve();
        return null;
      }),
    );
    const result = postPast(asked.promise);
    expect(await result).toMatchObject({
      class: "timeout",
      message: expect.stringContaining("No response within 15 s"),
    });
    await expect.poll(() => tcp.connections.every(({ closed }) => closed)).toBe(true);
  });

  // evidence: webhook-response-timeout
  it("timeout if headers arrive too slowly or the body never ends", async () => {
    const headers = drip("HTTP/1.1 200 OK\r\nx-slow: ");
    await from(respondWith(headers.respond));
    expect(await postPast(headers.began)).toMatchObject({
      class: "timeout",
      message: expect.stringContaining("The response began but did not end"),
    });
    const body = drip("HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n");
    await from(respondWith(body.respond));
    expect(await postPast(body.began)).toMatchObject({
      class: "timeout",
      message: expect.stringContaining("The response began but did not end"),
    });
  });

  it("reset if the receiver closes or resets the connection before or during its response", async () => {
    await from((socket) => socket.once("data", () => socket.end()));
    expect(await post(http, tcp.url)).toMatchObject({ class: "reset" });
    await from((socket) => socket.once("data", () => socket.resetAndDestroy()));
    expect(await post(http, tcp.url)).toMatchObject({ class: "reset" });
    await from(
      respondWith((_, socket) => {
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
        return null;
      }),
    );
    expect(await post(http, tcp.url)).toMatchObject({ class: "reset" });
    expect(tcp.connections).toHaveLength(1);
  });

  it.each([
    ["not HTTP", "SSH-2.0-OpenSSH_9.9\r\n"],
    [
      "two lengths and chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ],
    ["headers over 16 KiB", `HTTP/1.1 200 OK\r\n${`x-many: ${"x".repeat(1_000)}\r\n`.repeat(20)}\r\n`],
    [
      "a switch of protocols",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    ],
    ["interim answers without end", HINTS.repeat(50)],
    ["`100 Continue` without end", CONTINUE.repeat(50)],
  ])("invalid_response for %s", async (_, bytes) => {
    expect(await fromBytes(bytes)).toMatchObject({ kind: "failure", class: "invalid_response" });
  });

  it("a message with only the host of the URL", async () => {
    await from((socket) => socket.once("data", () => socket.destroy()));
    const result = await post(http, `http://api.localhost:${tcp.port}/`);
    expect(result).toMatchObject({ message: expect.stringContaining(`api.localhost:${tcp.port}`) });
    expect(JSON.stringify(result)).not.toContain("127.0.0.1");
  });

  it.each([{ "x-a": "1\r\nx-evil: 2" }, { "content-length": "-1" }])(
    "no result but throws for a malformed request, which is not sent: %j",
    async (headers) => {
      await from(respondWith(() => OK));
      await expect(http.post({ url: tcp.url, headers, body: "{}" })).rejects.toThrow(/invalid/);
      expect(await post(http, tcp.url)).toMatchObject({ status: 200 });
    },
  );
});

describe("connections", () => {
  it("are reused sequentially", async () => {
    await using receiver = await startTestReceiver();
    const http = httpWith();
    for (const _ of times(10)) await post(http, receiver.url);
    expect(receiver.connections.opened).toBe(1);
    await Promise.all(times(8).map(() => post(http, receiver.url)));
    expect(receiver.connections.opened).toBeLessThanOrEqual(8);
  });

  it("that are idle are closed, also if the receiver would keep them longer", async () => {
    const keep = OK.replace("\r\n", "\r\nkeep-alive: timeout=600\r\n");
    const tcp = await startTcpReceiver(respondWith((count) => (count === 1 ? OK : keep)));
    opened.push(tcp);
    const http = httpWith({ keepAliveMs: 50 });
    for (const open of [1, 2]) {
      await post(http, tcp.url);
      expect(tcp.connections).toHaveLength(open);
      const areClosed = () => tcp.connections.every(({ closed }) => closed);
      await expect.poll(areClosed, { timeout: 30_000 }).toBe(true);
    }
  });

  it("that the server closes with its response are not reused", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ headers: { connection: "close" } }) });
    const http = httpWith();
    for (const _ of times(5)) expect(await post(http, receiver.url)).toMatchObject({ status: 200 });
    expect(receiver.connections.opened).toBe(5);
  });

  it("that the server closed between two requests cause no failure", async () => {
    await using receiver = await startTestReceiver();
    const http = httpWith();
    for (const _ of times(20)) {
      expect(await post(http, receiver.url)).toMatchObject({ status: 200 });
      receiver.dropConnections();
    }
    expect(receiver.received).toHaveLength(20);
  });

  it.each([
    ["closed", (socket: Socket) => socket.destroy()],
    ["reset", (socket: Socket) => socket.resetAndDestroy()],
  ])("that the server %s at the next request are replaced once", async (_, end) => {
    const tcp = await startTcpReceiver(
      respondWith((count, socket) => {
        if (count !== 2) return OK;
        end(socket);
        return null;
      }),
    );
    opened.push(tcp);
    const http = httpWith();
    expect(await post(http, tcp.url)).toMatchObject({ status: 200 });
    expect(await post(http, tcp.url)).toMatchObject({ status: 200 });
    expect(tcp.connections).toHaveLength(2);
  });

  it("that break after the first bytes of a response fail the request, which is not sent again", async () => {
    const tcp = await startTcpReceiver(
      respondWith((count, socket) => {
        if (count === 1) return OK;
        socket.end("HTTP/1.1 200 OK\r\ncontent-");
        return null;
      }),
    );
    opened.push(tcp);
    const http = httpWith();
    await post(http, tcp.url);
    expect(await post(http, tcp.url)).toMatchObject({ class: "reset" });
    expect(tcp.connections).toHaveLength(1);
  });

  it("that break twice fail the request", async () => {
    const tcp = await startTcpReceiver(
      respondWith((count, socket) => {
        if (count === 1) return OK;
        socket.destroy();
        return null;
      }),
    );
    opened.push(tcp);
    const http = httpWith();
    await post(http, tcp.url);
    expect(await post(http, tcp.url)).toMatchObject({ class: "reset" });
    expect(tcp.connections).toHaveLength(2);
  });

  it("finish their requests when the client is disposed", async () => {
    await using receiver = await startTestReceiver();
    const answer = Promise.withResolvers<object>();
    receiver.respond = () => answer.promise;
    const http = new HttpClient({ guard });
    const posted = post(http, receiver.url);
    await receiver.waitFor(1);
    const ended = http[Symbol.asyncDispose]();
    answer.resolve({});
    expect(await posted).toMatchObject({ status: 200 });
    await ended;
    await expect.poll(() => receiver.connections.open).toBe(0);
  });
});
