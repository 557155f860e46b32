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

/** Keeps what it is told of answers. */
class RecordingLimit extends ConcurrencyLimit {
  /** The kinds. */
  readonly told: string[] = [];

  override onSuccess(kind: string, beganMs: number, nowMs: number): void {
    this.told.push(kind);
    super.onSuccess(kind, beganMs, nowMs);
  }
}

/** A limit that was lowered to a few: answers took fifty times what they took in calm, and others were refused. */
function loweredLimit(): ConcurrencyLimit {
  const limit = new ConcurrencyLimit({ max: 200 });
  const KIND = "GET /v1/jobs";
  let nowMs = 0;
  for (let calm = 0; calm < 20; calm += 1) {
    limit.onStart((nowMs += 1));
    limit.onSuccess(KIND, nowMs, (nowMs += 1));
  }
  while (limit.limit > 8) {
    const beganMs = (nowMs += 1);
    for (let at = 0; at < 50; at += 1) limit.onStart(beganMs);
    limit.onReject();
    for (let at = 0; at < 50; at += 1) limit.onSuccess(KIND, beganMs, beganMs + 50);
    limit.adjust((nowMs += 200));
  }
  return limit;
}

/** A request that is first in line on its connection. */
function arrive(): { request: IncomingMessage; response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  response.assignSocket(request.socket);
  attachRequestContext(response);
  return { request, response };
}

function take(places: InFlightRequests, key: string | null): ServerResponse {
  const { request, response } = arrive();
  places.add(request, response, { key, nowMs: performance.now() });
  return response;
}

it("one key gets half of the places at most, so that the others find room", () => {
  const limit = loweredLimit();
  const places = new InFlightRequests(limit);
  const half = Math.ceil(limit.limit / 2);
  const responses = Array.from({ length: half }, () => {
    expect(places.rejectionReason("flooding", performance.now())).toBeNull();
    return take(places, "flooding");
  });
  expect(places.rejectionReason("flooding", performance.now())).toBe("per_key");
  expect(places.rejectionReason("another", performance.now())).toBeNull();
  responses[0]?.emit("close");
  expect(places.rejectionReason("flooding", performance.now())).toBeNull();
});

it("nobody gets a place when all are taken", () => {
  const limit = loweredLimit();
  const places = new InFlightRequests(limit);
  for (let at = 0; at < limit.limit; at += 1) take(places, `key ${at}`);
  expect(places.rejectionReason("another", performance.now())).toBe("capacity");
});

it("a lowered limit rises where those who have its places take long", () => {
  const limit = loweredLimit();
  const most = limit.limit;
  for (let at = 0; at < most; at += 1) limit.onStart(10_000_000);
  for (let nowMs = 10_001_000; nowMs < 10_005_000; nowMs += 500) {
    limit.onReject();
    if (limit.isAdjustmentDue(nowMs)) limit.adjust(nowMs);
    expect(limit.limit).toBeGreaterThanOrEqual(most);
  }
  expect(limit.limit).toBeGreaterThan(most);
});

/** One whose headers say that a body comes. */
function takeHalf(places: InFlightRequests): { request: IncomingMessage; response: ServerResponse } {
  const { request, response } = arrive();
  request.headers = { "content-length": "2" };
  places.add(request, response, { key: null, nowMs: performance.now() });
  return { request, response };
}

/** One whose body somebody waits for. */
function takeRead(places: InFlightRequests): ReturnType<typeof takeHalf> {
  const taken = takeHalf(places);
  taken.request.emit("resume");
  return taken;
}

/** The bodies that have come with their headers, or right behind them, are read. */
async function afterArrival(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await turn();
}

it("whoever does not send the rest of a request gives the place back before others are refused", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  const places = new InFlightRequests(limit);
  for (let at = 0; at < 20; at += 1) takeRead(places);
  await afterArrival();
  expect(limit.inFlight).toBe(0);
  expect(places.rejectionReason(null, performance.now())).toBeNull();
});

it("and has one again with the rest, of which nothing is told", async () => {
  const limit = new RecordingLimit({ max: 20 });
  const { request, response } = takeRead(new InFlightRequests(limit));
  await afterArrival();
  request.complete = true;
  request.emit("end");
  expect(limit.inFlight).toBe(1);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  expect(limit.told).toEqual([]);
  response.emit("close");
  expect(limit.inFlight).toBe(0);
});

it("whoever was answered without the rest of the request has no place again with it", async () => {
  const limit = new RecordingLimit({ max: 20 });
  const { request, response } = takeRead(new InFlightRequests(limit));
  await afterArrival();
  response.emit("prefinish");
  request.emit("end");
  expect(limit.inFlight).toBe(0);
  expect(limit.told).toEqual([]);
});

it("whoever withholds a body that nobody reads keeps the place", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  takeHalf(new InFlightRequests(limit));
  await afterArrival();
  expect(limit.inFlight).toBe(1);
});

it("whoever sends everything at once keeps the place", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  const { request } = takeRead(new InFlightRequests(limit));
  request.complete = true;
  await afterArrival();
  expect(limit.inFlight).toBe(1);
});

it("whoever does not take an answer that is written has no place any more", () => {
  const limit = new RecordingLimit({ max: 200 });
  const places = new InFlightRequests(limit);
  const response = take(places, null);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  expect(limit.told).toHaveLength(1);
});

it("an answer that waited for its client to take the first of it tells nothing", () => {
  const limit = new RecordingLimit({ max: 200 });
  const response = take(new InFlightRequests(limit), null);
  response.emit("drain");
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  expect(limit.told).toEqual([]);
});

it("whoever does not take the answer while it is written gives the place back", () => {
  const limit = new ConcurrencyLimit({ max: 200 });
  const places = new InFlightRequests(limit);
  const { request, response } = arrive();
  request.complete = true;
  places.add(request, response, { key: null, nowMs: 0 });
  response.writeHead(200);
  places.evictIdle(150);
  expect(limit.inFlight).toBe(0);
  response.emit("close");
  expect(limit.inFlight).toBe(0);
});

it.each(["identity", "gzip", "br"])(
  "answers of other lengths are other kinds as %s too",
  async (encoding) => {
    const limit = new RecordingLimit({ max: 200 });
    const places = new InFlightRequests(limit);
    const compress = compression();
    const server = createServer((request, response) => {
      places.add(request, response, { key: null, nowMs: performance.now() });
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
      const asked = httpRequest({ host: "127.0.0.1", port, path: `/${bytes}`, headers }).end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      expect(answer.headers["content-encoding"] ?? "identity").toBe(encoding);
      await once(answer.resume(), "end");
    }
    const [short, long, again] = limit.told;
    expect(short).not.toBe(long);
    expect(again).toBe(short);
    server.close();
  },
);

// evidence: external-calls-release-overload-slot
it("gives the slot back during a call to another server, and takes it again afterwards, once", async () => {
  const limit = new RecordingLimit({ max: 20 });
  const places = new InFlightRequests(limit);
  const response = take(places, null);
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
  expect(limit.told).toEqual([]);
});

it("takes no slot after a call whose client has gone", async () => {
  const limit = new ConcurrencyLimit({ max: 20 });
  const response = take(new InFlightRequests(limit), null);
  const { promise, reject } = Promise.withResolvers<never>();
  const call = duringExternalCall(response, () => promise);
  response.emit("close");
  reject(new Error("no answer"));
  await expect(call).rejects.toThrow("no answer");
  expect(limit.inFlight).toBe(0);
});
