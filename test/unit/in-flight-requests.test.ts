import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, IncomingMessage, request as httpRequest, ServerResponse } from "node:http";
import { Socket, type AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import compression from "compression";
import type { Request, Response } from "express";
import { expect, it } from "vitest";
import { ConcurrencyLimit } from "../../src/http/load-shedding/concurrency-limit.ts";
import { duringExternalCall, InFlightRequests } from "../../src/http/load-shedding/in-flight-requests.ts";
import { attachRequestContext } from "../support/app/request-context.fixture.ts";

/** Records the kinds of requests whose duration is used as a sample. */
class RecordingLimit extends ConcurrencyLimit {
  readonly sampledKinds: string[] = [];

  override onSuccess(kind: string, startedMs: number, nowMs: number): void {
    this.sampledKinds.push(kind);
    super.onSuccess(kind, startedMs, nowMs);
  }
}

/** Returns a limit lowered to at most 8: latency was fifty times the baseline, and requests were rejected. */
function loweredLimit(): ConcurrencyLimit {
  const limit = new ConcurrencyLimit({ max: 200 });
  const KIND = "GET /v1/jobs";
  let nowMs = 0;
  for (let sample = 0; sample < 20; sample += 1) {
    limit.onStart((nowMs += 1));
    limit.onSuccess(KIND, nowMs, (nowMs += 1));
  }
  while (limit.limit > 8) {
    const startedMs = (nowMs += 1);
    for (let count = 0; count < 50; count += 1) limit.onStart(startedMs);
    limit.onReject();
    for (let count = 0; count < 50; count += 1) limit.onSuccess(KIND, startedMs, startedMs + 50);
    limit.adjust((nowMs += 200));
  }
  return limit;
}

/** Creates the first request of a connection. */
function createRequest(): { request: IncomingMessage; response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  response.assignSocket(request.socket);
  attachRequestContext(response);
  return { request, response };
}

function startRequest(inFlightRequests: InFlightRequests, key: string | null): ServerResponse {
  const { request, response } = createRequest();
  inFlightRequests.add(request, response, { key, nowMs: performance.now() });
  return response;
}

it("limits a key to half of the permits", () => {
  const limit = loweredLimit();
  const inFlightRequests = new InFlightRequests(limit);
  const half = Math.ceil(limit.limit / 2);
  const responses = Array.from({ length: half }, () => {
    expect(inFlightRequests.rejectionReason("flooding", performance.now())).toBeNull();
    return startRequest(inFlightRequests, "flooding");
  });
  expect(inFlightRequests.rejectionReason("flooding", performance.now())).toBe("per_key");
  expect(inFlightRequests.rejectionReason("another", performance.now())).toBeNull();
  responses[0]?.emit("close");
  expect(inFlightRequests.rejectionReason("flooding", performance.now())).toBeNull();
});

it("rejects requests when no permit is free", () => {
  const limit = loweredLimit();
  const inFlightRequests = new InFlightRequests(limit);
  for (let count = 0; count < limit.limit; count += 1) startRequest(inFlightRequests, `key ${count}`);
  expect(inFlightRequests.rejectionReason("another", performance.now())).toBe("capacity");
});

it("raises a lowered limit while slow requests hold all permits", () => {
  const limit = loweredLimit();
  const initialLimit = limit.limit;
  for (let count = 0; count < initialLimit; count += 1) limit.onStart(10_000_000);
  for (let nowMs = 10_001_000; nowMs < 10_005_000; nowMs += 500) {
    limit.onReject();
    if (limit.isAdjustmentDue(nowMs)) limit.adjust(nowMs);
    expect(limit.limit).toBeGreaterThanOrEqual(initialLimit);
  }
  expect(limit.limit).toBeGreaterThan(initialLimit);
});

/** Starts a request whose body has not arrived. */
function startWithoutBody(inFlightRequests: InFlightRequests): {
  request: IncomingMessage;
  response: ServerResponse;
} {
  const { request, response } = createRequest();
  request.headers = { "content-length": "2" };
  inFlightRequests.add(request, response, { key: null, nowMs: performance.now() });
  return { request, response };
}

/** Starts a request whose body has not arrived and is being read. */
function startReadingBody(inFlightRequests: InFlightRequests): ReturnType<typeof startWithoutBody> {
  const started = startWithoutBody(inFlightRequests);
  started.request.emit("resume");
  return started;
}

/** Waits long enough for a body sent together with its headers to be read. */
async function waitForBody(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await turn();
}

it("releases the permit of a client that does not send its body", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  const inFlightRequests = new InFlightRequests(limit);
  for (let count = 0; count < 20; count += 1) startReadingBody(inFlightRequests);
  await waitForBody();
  expect(limit.inFlight).toBe(0);
  expect(inFlightRequests.rejectionReason(null, performance.now())).toBeNull();
});

it("takes the permit again when the body arrives, and does not sample its duration", async () => {
  const limit = new RecordingLimit({ max: 20 });
  const { request, response } = startReadingBody(new InFlightRequests(limit));
  await waitForBody();
  request.complete = true;
  request.emit("end");
  expect(limit.inFlight).toBe(1);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  expect(limit.sampledKinds).toEqual([]);
  response.emit("close");
  expect(limit.inFlight).toBe(0);
});

it("takes no permit for a body that arrives after the response", async () => {
  const limit = new RecordingLimit({ max: 20 });
  const { request, response } = startReadingBody(new InFlightRequests(limit));
  await waitForBody();
  response.emit("prefinish");
  request.emit("end");
  expect(limit.inFlight).toBe(0);
  expect(limit.sampledKinds).toEqual([]);
});

it("keeps the permit while a missing body is not being read", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  startWithoutBody(new InFlightRequests(limit));
  await waitForBody();
  expect(limit.inFlight).toBe(1);
});

it("keeps the permit if the body arrives with the headers", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  const { request } = startReadingBody(new InFlightRequests(limit));
  request.complete = true;
  await waitForBody();
  expect(limit.inFlight).toBe(1);
});

it("releases the permit when the response is written, even if the client does not read it", () => {
  const limit = new RecordingLimit({ max: 200 });
  const inFlightRequests = new InFlightRequests(limit);
  const response = startRequest(inFlightRequests, null);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  expect(limit.sampledKinds).toHaveLength(1);
});

it("does not sample a response that waited for a slow client", () => {
  const limit = new RecordingLimit({ max: 200 });
  const response = startRequest(new InFlightRequests(limit), null);
  response.emit("drain");
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  expect(limit.sampledKinds).toEqual([]);
});

it("evictIdle releases the permit of a client that does not read its response", () => {
  const limit = new ConcurrencyLimit({ max: 200 });
  const inFlightRequests = new InFlightRequests(limit);
  const { request, response } = createRequest();
  request.complete = true;
  inFlightRequests.add(request, response, { key: null, nowMs: 0 });
  response.writeHead(200);
  inFlightRequests.evictIdle(150);
  expect(limit.inFlight).toBe(0);
  response.emit("close");
  expect(limit.inFlight).toBe(0);
});

it.each(["identity", "gzip", "br"])(
  "samples responses of different sizes as different kinds, with %s encoding",
  async (encoding) => {
    const limit = new RecordingLimit({ max: 200 });
    const inFlightRequests = new InFlightRequests(limit);
    const compress = compression();
    const server = createServer((request, response) => {
      inFlightRequests.add(request, response, { key: null, nowMs: performance.now() });
      attachRequestContext(response);
      compress(request as Request, response as Response, () => {
        const text = randomBytes(Number(request.url?.slice(1))).toString("hex");
        response.setHeader("Content-Type", "text/plain");
        response.setHeader("Content-Length", text.length);
        response.end(text);
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    for (const bytes of [3_000, 30_000, 3_000]) {
      const headers = { "accept-encoding": encoding };
      const clientRequest = httpRequest({ host: "127.0.0.1", port, path: `/${bytes}`, headers }).end();
      const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
      expect(response.headers["content-encoding"] ?? "identity").toBe(encoding);
      await once(response.resume(), "end");
    }
    const [short, long, again] = limit.sampledKinds;
    expect(short).not.toBe(long);
    expect(again).toBe(short);
    server.close();
  },
);

// evidence: external-calls-release-overload-slot
it("releases the permit during calls to another server, and takes it again once", async () => {
  const limit = new RecordingLimit({ max: 20 });
  const inFlightRequests = new InFlightRequests(limit);
  const response = startRequest(inFlightRequests, null);
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const calls = [first, second].map(({ promise }) => duringExternalCall(response, () => promise));
  expect(limit.inFlight).toBe(0);
  first.resolve(1);
  expect(await calls[0]).toBe(1);
  expect(limit.inFlight).toBe(1);
  second.resolve(2);
  expect(await calls[1]).toBe(2);
  expect(limit.inFlight).toBe(1);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  expect(limit.sampledKinds).toEqual([]);
});

it("takes no permit after a call if the client has disconnected", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  const response = startRequest(new InFlightRequests(limit), null);
  const { promise, reject } = Promise.withResolvers<never>();
  const call = duringExternalCall(response, () => promise);
  response.emit("close");
  reject(new Error("no answer"));
  await expect(call).rejects.toThrow("no answer");
  expect(limit.inFlight).toBe(0);
});
