/** Places of requests on real connections, whose clients break them off, send several at once, or take nothing. */
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { ConcurrencyLimit } from "../../src/http/load-shedding/concurrency-limit.ts";
import { InFlightRequests } from "../../src/http/load-shedding/in-flight-requests.ts";
import { attachRequestContext } from "../support/app/request-context.fixture.ts";
import { openRawSocket } from "../support/app/raw-http-client.ts";

interface Served {
  limit: ConcurrencyLimit;
  places: InFlightRequests;
  socket: Socket;
  /** Of the requests that came, in their order. */
  responses: ServerResponse[];
  /** Writes `requests` at once and resolves when all of them have come. */
  ask: (...requests: string[]) => Promise<void>;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A server whose requests take places, and are answered by `handle`; and a connection to it. */
async function serve(handle: RequestListener): Promise<Served> {
  const limit = new ConcurrencyLimit({ max: 20 });
  const places = new InFlightRequests(limit);
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    attachRequestContext(response);
    places.add(request, response, { key: null, nowMs: performance.now() });
    responses.push(response);
    handle(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = await openRawSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return {
    limit,
    places,
    socket,
    responses,
    ask: async (...requests) => {
      const count = responses.length + requests.length;
      socket.write(requests.join(""));
      await vi.waitFor(() => expect(responses).toHaveLength(count));
    },
  };
}

const hold: RequestListener = () => undefined;

/** Holds the first, and answers the others at once. */
const holdFirst: RequestListener = ({ url }, response) => {
  if (url !== "/first") response.end("{}");
};

it("a client that is gone before its answer gives its place back once", async () => {
  const { limit, socket, responses, ask } = await serve(hold);
  await ask(get("/"));
  expect(limit.inFlight).toBe(1);
  socket.destroy();
  const [response] = responses as [ServerResponse];
  await once(response, "close");
  expect(limit.inFlight).toBe(0);
  response.end("{}");
  expect(limit.inFlight).toBe(0);
});

it("answers that stand behind one that is still to come hold no places", async () => {
  const { limit, places, responses, ask } = await serve(holdFirst);
  await ask(get("/first"), ...Array.from({ length: 19 }, () => get("/")));
  expect(limit.hasCapacity).toBe(false);
  expect(places.rejectionReason(null, performance.now())).toBeNull();
  expect(limit.inFlight).toBe(1);
  responses[0]?.end("{}");
  await vi.waitFor(() => expect(responses.every(({ writableFinished }) => writableFinished)).toBe(true));
  expect(limit.inFlight).toBe(0);
});

it("requests on a connection that was taken for something else hold no places, and nothing is kept of them", async () => {
  const { limit, places, socket, ask } = await serve(hold);
  await ask(get("/first"), get("/"), get("/"));
  socket.write("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(socket.resume(), "close");
  places.evictIdle(performance.now());
  expect(limit.inFlight).toBe(0);
});
