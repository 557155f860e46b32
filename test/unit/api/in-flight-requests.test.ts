import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { withoutCounting } from "../../../src/api/load-shedding/counted-response.ts";
import { ConcurrencyLimit, InFlightRequests } from "../../../src/api/load-shedding/load-shedding.ts";

const createLimit = (): ConcurrencyLimit => new ConcurrencyLimit({ sustained: 8, burst: 20 });

function overloadedLimit(): ConcurrencyLimit {
  const limit = createLimit();
  limit.onOverload(performance.now());
  return limit;
}

/** Creates the first request of a connection. */
function createRequest(): { request: IncomingMessage; response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  response.assignSocket(request.socket);
  return { request, response };
}

function startRequest(inFlightRequests: InFlightRequests): ServerResponse {
  const { request, response } = createRequest();
  inFlightRequests.add(request, response, performance.now());
  return response;
}

it("rejects requests when no permit is free", () => {
  const limit = overloadedLimit();
  const inFlightRequests = new InFlightRequests(limit);
  for (let count = 0; count < limit.limit; count += 1) startRequest(inFlightRequests);
  expect(inFlightRequests.hasCapacity(performance.now())).toBe(false);
});

/** Starts a request whose body has not arrived. */
function startWithoutBody(inFlightRequests: InFlightRequests): {
  request: IncomingMessage;
  response: ServerResponse;
} {
  const { request, response } = createRequest();
  request.headers = { "content-length": "2" };
  inFlightRequests.add(request, response, performance.now());
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
  const limit = createLimit();
  const inFlightRequests = new InFlightRequests(limit);
  for (let count = 0; count < 20; count += 1) startReadingBody(inFlightRequests);
  await waitForBody();
  expect(limit.inFlight).toBe(0);
  expect(inFlightRequests.hasCapacity(performance.now())).toBe(true);
});

it("takes the permit again when the body arrives", async () => {
  const limit = createLimit();
  const { request, response } = startReadingBody(new InFlightRequests(limit));
  await waitForBody();
  request.complete = true;
  request.emit("end");
  expect(limit.inFlight).toBe(1);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
  response.emit("close");
  expect(limit.inFlight).toBe(0);
});

it("takes no permit for a body that arrives after the response", async () => {
  const limit = createLimit();
  const { request, response } = startReadingBody(new InFlightRequests(limit));
  await waitForBody();
  response.emit("prefinish");
  request.emit("end");
  expect(limit.inFlight).toBe(0);
});

it("keeps the permit while a missing body is not being read", async () => {
  const limit = createLimit();
  startWithoutBody(new InFlightRequests(limit));
  await waitForBody();
  expect(limit.inFlight).toBe(1);
});

it("keeps the permit if the body arrives with the headers", async () => {
  const limit = createLimit();
  const { request } = startReadingBody(new InFlightRequests(limit));
  request.complete = true;
  await waitForBody();
  expect(limit.inFlight).toBe(1);
});

it("releases the permit when the response is written, even if the client does not read it", () => {
  const limit = createLimit();
  const inFlightRequests = new InFlightRequests(limit);
  const response = startRequest(inFlightRequests);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
});

it("evictIdle releases the permit of a client that does not read its response", () => {
  const limit = createLimit();
  const inFlightRequests = new InFlightRequests(limit);
  const { request, response } = createRequest();
  request.complete = true;
  inFlightRequests.add(request, response, 0);
  response.writeHead(200);
  inFlightRequests.evictIdle(150);
  expect(limit.inFlight).toBe(0);
  response.emit("close");
  expect(limit.inFlight).toBe(0);
});

// evidence: external-calls-release-overload-slot
it("releases the permit during calls to another server, and takes it again once", async () => {
  const limit = createLimit();
  const inFlightRequests = new InFlightRequests(limit);
  const response = startRequest(inFlightRequests);
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const calls = [first, second].map(({ promise }) => withoutCounting(response, () => promise));
  expect(limit.inFlight).toBe(0);
  first.resolve(1);
  expect(await calls[0]).toBe(1);
  expect(limit.inFlight).toBe(1);
  second.resolve(2);
  expect(await calls[1]).toBe(2);
  expect(limit.inFlight).toBe(1);
  response.emit("prefinish");
  expect(limit.inFlight).toBe(0);
});

it("takes no permit after a call if the client has disconnected", async () => {
  const limit = createLimit();
  const response = startRequest(new InFlightRequests(limit));
  const { promise, reject } = Promise.withResolvers<never>();
  const call = withoutCounting(response, () => promise);
  response.emit("close");
  reject(new Error("no answer"));
  await expect(call).rejects.toThrow("no answer");
  expect(limit.inFlight).toBe(0);
});
