import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { InFlight } from "../../../src/api/in-flight.ts";

const POOL_SIZE = 10;
const BURST = 20 * POOL_SIZE;

function fakeResponse(): ServerResponse {
  const req = { complete: true, socket: { destroyed: false } };
  return Object.assign(new EventEmitter(), { req, headersSent: false }) as unknown as ServerResponse;
}

it("during an overload, one partner's requests and queries leave room for others", async () => {
  const inFlight = new InFlight({ poolSize: POOL_SIZE, isLimited: true, registry: new Registry() });
  const responses = Array.from({ length: BURST }, fakeResponse);
  for (const response of responses) inFlight.enter(response);
  expect(() => inFlight.enter(fakeResponse())).toThrow("overloaded");
  const started = responses.map((response, index) => {
    const kind = index % 2 === 0 ? "request" : "query";
    const { promise, resolve } = Promise.withResolvers<void>();
    const ended = inFlight.inShare(response, { partnerId: "partner", kind }, () => promise);
    return { resolve, ended };
  });
  for (let count = 0; count < POOL_SIZE; count += 1) inFlight.enter(fakeResponse());
  expect(() => inFlight.enter(fakeResponse())).toThrow("overloaded");
  for (const { resolve } of started) resolve();
  await Promise.all(started.map(({ ended }) => ended));
});
