import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { ConcurrencyLimit } from "../../src/http/overload/concurrency-limit.ts";
import { Places } from "../../src/http/overload/places.ts";

/** A limit that was lowered to a few: answers took fifty times what they took in calm, and others were refused. */
function loweredLimit(): ConcurrencyLimit {
  const limit = new ConcurrencyLimit({ most: 200 });
  const KIND = "GET /v1/jobs";
  let nowMs = 0;
  for (let calm = 0; calm < 20; calm += 1) {
    limit.began((nowMs += 1));
    limit.answered(KIND, nowMs, (nowMs += 1));
  }
  while (limit.limit > 8) {
    const beganMs = (nowMs += 1);
    for (let at = 0; at < 50; at += 1) limit.began(beganMs);
    limit.refused();
    for (let at = 0; at < 50; at += 1) limit.answered(KIND, beganMs, beganMs + 50);
    limit.look((nowMs += 200));
  }
  return limit;
}

function take(places: Places, key: string | null): ServerResponse {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  places.take(request, response, { key, nowMs: performance.now() });
  return response;
}

it("one key gets half of the places at most, so that the others find room", () => {
  const limit = loweredLimit();
  const places = new Places(limit);
  const half = Math.ceil(limit.limit / 2);
  const responses = Array.from({ length: half }, () => {
    expect(places.reasonAgainst("flooding")).toBeNull();
    return take(places, "flooding");
  });
  expect(places.reasonAgainst("flooding")).toBe("share");
  expect(places.reasonAgainst("another")).toBeNull();
  responses[0]?.emit("close");
  expect(places.reasonAgainst("flooding")).toBeNull();
});

it("nobody gets a place when all are taken", () => {
  const limit = loweredLimit();
  const places = new Places(limit);
  for (let at = 0; at < limit.limit; at += 1) take(places, `key ${at}`);
  expect(places.reasonAgainst("another")).toBe("capacity");
});

it("a lowered limit rises where those who have its places take long", () => {
  const limit = loweredLimit();
  const most = limit.limit;
  for (let at = 0; at < most; at += 1) limit.began(10_000_000);
  for (let nowMs = 10_001_000; nowMs < 10_005_000; nowMs += 500) {
    limit.refused();
    if (limit.isTimeToLook(nowMs)) limit.look(nowMs);
    expect(limit.limit).toBeGreaterThanOrEqual(most);
  }
  expect(limit.limit).toBeGreaterThan(most);
});

it("whoever does not send the rest of a request gives the place back, and has one again with the rest", () => {
  const limit = new ConcurrencyLimit({ most: 200 });
  const places = new Places(limit);
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  places.take(request, response, { key: null, nowMs: 0 });
  places.sweep(50);
  expect(limit.inWork).toBe(1);
  places.sweep(150);
  expect(limit.inWork).toBe(0);
  request.complete = true;
  places.sweep(200);
  expect(limit.inWork).toBe(1);
  response.emit("close");
  expect(limit.inWork).toBe(0);
});

it("whoever does not take the answer gives the place back", () => {
  const limit = new ConcurrencyLimit({ most: 200 });
  const places = new Places(limit);
  const request = new IncomingMessage(new Socket());
  request.complete = true;
  const response = new ServerResponse(request);
  places.take(request, response, { key: null, nowMs: 0 });
  response.flushHeaders();
  places.sweep(150);
  expect(limit.inWork).toBe(0);
  response.emit("close");
  expect(limit.inWork).toBe(0);
});
