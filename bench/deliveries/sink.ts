/**
 * The webhook receiver, in its own process: answers 200, counts by `webhook-id` and verifies 1 % of the signatures. Below /hang/
 * it never answers, and below /flaky/ it first rejects every third event.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isSigned } from "../../test/support/webhooks/is-signed.ts";
import { sharedNowMs } from "./protocol.ts";

export type SinkCommand =
  | { do: "expect"; count: number; secrets: readonly string[]; keepTimes: boolean }
  /** Closes hanging requests. */
  | { do: "release" };

export interface SinkTotals {
  distinct: number;
  /** All requests, duplicates included. */
  requests: number;
  wrongSignatures: number;
  firstMs: number;
  lastMs: number;
  /** Arrival times by `webhook-id`, if requested. */
  times: Map<string, number>;
}

const CHECK_EVERY = 100;
const FLAKY_EVERY = 3;
const emptyReceived = (): SinkTotals => ({
  distinct: 0,
  requests: 0,
  wrongSignatures: 0,
  firstMs: 0,
  lastMs: 0,
  times: new Map(),
});

let expected: Extract<SinkCommand, { do: "expect" }> = {
  do: "expect",
  count: 0,
  secrets: [],
  keepTimes: false,
};
let seen = new Set<string>();
let received = emptyReceived();
const hanging = new Set<ServerResponse>();

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.url?.startsWith("/hang/")) {
    request.resume();
    hanging.add(response);
    response.on("close", () => hanging.delete(response));
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.url?.startsWith("/flaky/") && isRejected(String(request.headers["webhook-id"]))) {
      response.writeHead(500, { "content-length": 0 }).end();
      return;
    }
    response.writeHead(200, { "content-type": "text/plain", "content-length": 2 }).end("ok");
    recordRequest(request, chunks);
  });
});

server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

process.on("message", (command: SinkCommand) => {
  if (command.do === "release") {
    for (const response of hanging) response.destroy();
    return;
  }
  expected = command;
  seen = new Set();
  received = emptyReceived();
});
process.once("disconnect", () => {
  server.closeAllConnections();
  server.close();
});

const attempted = new Set<string>();

/** Rejects the first attempt of every third event. */
function isRejected(id: string): boolean {
  if (attempted.has(id)) return false;
  attempted.add(id);
  return attempted.size % FLAKY_EVERY === 0;
}

function recordRequest({ headers, url }: IncomingMessage, chunks: readonly Buffer[]): void {
  const id = String(headers["webhook-id"]);
  const nowMs = sharedNowMs();
  received.requests += 1;
  if (seen.has(id)) return;
  seen.add(id);
  if (seen.size === 1) received.firstMs = nowMs;
  if (expected.keepTimes) received.times.set(id, nowMs);
  if (seen.size % CHECK_EVERY === 0) {
    const secret = expected.secrets[Number(url?.split("/").at(-1))] ?? "";
    if (!isSigned(secret, { headers, body: Buffer.concat(chunks) })) received.wrongSignatures += 1;
  }
  if (seen.size !== expected.count) return;
  received.distinct = seen.size;
  received.lastMs = nowMs;
  process.send?.(received);
}
