/** Permits of requests on real connections: disconnects, pipelining and upgraded connections. */
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ConcurrencyLimit, InFlightRequests } from "../../../src/api/load-shedding/load-shedding.ts";
import { openRawSocket } from "../../support/app/raw-http-client.ts";
import { eventually } from "../../support/eventually.ts";

interface Served {
  limit: ConcurrencyLimit;
  inFlightRequests: InFlightRequests;
  socket: Socket;
  /** Responses to the received requests, in order. */
  responses: ServerResponse[];
  /** Writes all requests together and resolves when the server has received them. */
  send: (...requests: string[]) => Promise<void>;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** Starts a server whose requests take permits and are handled by `handle`, and connects to it. */
async function serve(handle: RequestListener): Promise<Served> {
  const limit = new ConcurrencyLimit({ sustained: 20, burst: 20 });
  const inFlightRequests = new InFlightRequests(limit);
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    inFlightRequests.add(request, response, performance.now());
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
    inFlightRequests,
    socket,
    responses,
    send: async (...requests) => {
      const count = responses.length + requests.length;
      socket.write(requests.join(""));
      await eventually(() => expect(responses).toHaveLength(count));
    },
  };
}

const hold: RequestListener = () => undefined;

/** Never responds to the first request and responds to the others immediately. */
const holdFirst: RequestListener = ({ url }, response) => {
  if (url !== "/first") response.end("{}");
};

it("releases the permit once if the client disconnects before the response", async () => {
  const { limit, socket, responses, send } = await serve(hold);
  await send(get("/"));
  expect(limit.inFlight).toBe(1);
  socket.destroy();
  const [response] = responses as [ServerResponse];
  await once(response, "close");
  expect(limit.inFlight).toBe(0);
  response.end("{}");
  expect(limit.inFlight).toBe(0);
});

it("releases the permits of responses that wait for an earlier response on the connection", async () => {
  const { limit, inFlightRequests, responses, send } = await serve(holdFirst);
  await send(get("/first"), ...Array.from({ length: 19 }, () => get("/")));
  expect(limit.hasCapacity).toBe(false);
  expect(inFlightRequests.hasCapacity(performance.now())).toBe(true);
  expect(limit.inFlight).toBe(1);
  responses[0]?.end("{}");
  await eventually(() => expect(responses.every(({ writableFinished }) => writableFinished)).toBe(true));
  expect(limit.inFlight).toBe(0);
});

it("releases the permits of requests on a connection closed after CONNECT", async () => {
  const { limit, inFlightRequests, socket, send } = await serve(hold);
  await send(get("/first"), get("/"), get("/"));
  socket.write("CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await once(socket.resume(), "close");
  inFlightRequests.evictIdle(performance.now());
  expect(limit.inFlight).toBe(0);
});
