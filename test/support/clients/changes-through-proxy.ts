/** Checks that the changes which a client made through an unreliable proxy were applied exactly once. */
import { expect } from "vitest";
import type { SharedApp } from "../app/shared-app.ts";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";

export interface ClientReport {
  /** For each wait of the client: the seconds of `Retry-After` (0 without the header) and the seconds waited. */
  waits: [number, number][];
}

export interface ClientTask {
  /** Timeout of an attempt, in milliseconds. */
  timeoutMs: number;
  baseUrl: string;
  key: string;
  markingNumbers: readonly string[];
  /** Change n sets the weight n, from 1, of the job at position n modulo the number of jobs. */
  changes: number;
}

const JOBS = 20;
const RATES = { cut: 0.05, delayed: 0.05, limited: 0.02, unavailable: 0.02 };
/** Above the timeout that the clients set, so that delayed answers come too late. */
const DELAY_MS = 4_000;

/** Runs a client that makes `changes` through a proxy, several at once for each job, and checks the jobs' histories. */
export async function expectChangesExactlyOnce(
  app: SharedApp,
  changes: number,
  runClient: (task: ClientTask) => Promise<ClientReport>,
): Promise<void> {
  const agent = await app.createOrganization("agent");
  const markingNumbers = await app.createJobs(agent, JOBS);
  await using proxy = await startUnreliableProxy(app.url, { rates: RATES, delayMs: DELAY_MS, seed: "1" });
  const { waits } = await runClient({
    timeoutMs: DELAY_MS - 1_000,
    baseUrl: proxy.url,
    key: agent.key,
    markingNumbers,
    changes,
  });

  const applied = await Promise.all(markingNumbers.map((number) => weightsOf(app, agent.key, number)));
  for (const [index, weights] of applied.entries()) {
    const sent = Array.from({ length: changes }, (_, change) => change + 1).filter(
      (change) => change % JOBS === index,
    );
    expect(weights.toSorted((a, b) => a - b)).toEqual(sent);
  }
  const { counts } = proxy;
  expect(waits.filter(([retryAfterS, waitedS]) => waitedS < retryAfterS)).toEqual([]);
  // Not all refusals cause a wait: on a busy machine some arrive after the client's timeout.
  expect(waits.some(([retryAfterS]) => retryAfterS > 0)).toBe(true);
  // Each fault happened, at about its rate.
  for (const [fault, rate] of Object.entries(RATES) as [keyof typeof RATES, number][])
    expect(counts[fault]).toBeGreaterThan((counts.requests * rate) / 3);
}

/** Returns the weights that changes of the job have set, from its history. */
async function weightsOf(app: SharedApp, key: string, markingNumber: string): Promise<number[]> {
  const weights: number[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const path = `/v1/jobs/by-marking/${markingNumber}/history?page_size=100&page=${page}`;
    const { data } = (await app.call(path, { key })).body;
    pages = Math.ceil(data.pagination.total / 100);
    for (const { changes } of data.items)
      if (typeof changes.weight?.to === "number") weights.push(changes.weight.to as number);
  }
  return weights;
}

/**
 * `cut`: the service answers, and the client's connection is closed. `delayed`: the answer comes after `delayMs`. `limited` and
 * `unavailable`: the proxy answers 429 or 503 with `Retry-After`, and the service does not receive the request.
 */
const FAULTS = ["cut", "delayed", "limited", "unavailable"] as const;
type Fault = (typeof FAULTS)[number];

export interface UnreliableProxyOptions {
  /** Part of the requests that has each fault, from 0 to 1. */
  rates: Readonly<Record<Fault, number>>;
  delayMs: number;
  /** Chooses which requests have a fault. */
  seed: string;
}

export type UnreliableProxy = Awaited<ReturnType<typeof startUnreliableProxy>>;

const REFUSALS = {
  limited: { status: 429, code: "TooManyRequestsException" },
  unavailable: { status: 503, code: "ServiceUnavailableException" },
} as const;

/** Starts a proxy to the service at `target`. */
export async function startUnreliableProxy(target: string, { rates, delayMs, seed }: UnreliableProxyOptions) {
  /** Number of requests so far, and of those with each fault. */
  const counts = { requests: 0, cut: 0, delayed: 0, limited: 0, unavailable: 0 };
  const agent = new Agent({ keepAlive: true });

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    counts.requests += 1;
    const fault = faultOf(fraction(seed, counts.requests), rates);
    if (fault !== null) counts[fault] += 1;
    const body = await buffer(incoming);
    if (fault === "limited" || fault === "unavailable") {
      sendRefusal(response, fault, 1 + (counts.requests % 3));
      return;
    }
    const answer = await forward(target, agent, incoming, body);
    const content = await buffer(answer);
    if (fault === "delayed") await wait(delayMs);
    if (fault === "cut") response.destroy();
    else response.writeHead(answer.statusCode ?? 502, answer.headers).end(content);
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
      agent.destroy();
    },
  };
}

/** Returns a number from 0 to 1 that is always the same for the request. */
function fraction(seed: string, requestNumber: number): number {
  return createHash("sha256").update(`${seed} ${requestNumber}`).digest().readUInt32BE() / 2 ** 32;
}

function faultOf(position: number, rates: UnreliableProxyOptions["rates"]): Fault | null {
  let end = 0;
  for (const fault of FAULTS) {
    end += rates[fault];
    if (position < end) return fault;
  }
  return null;
}

function sendRefusal(response: ServerResponse, fault: keyof typeof REFUSALS, retryAfterS: number): void {
  const { status, code } = REFUSALS[fault];
  const error = { code, message: "Refused by the test's proxy", details: null };
  const envelope = { request_id: "req_00000000000000000000000000", success: false, data: null, error };
  response.writeHead(status, { "content-type": "application/json", "retry-after": String(retryAfterS) });
  response.end(JSON.stringify(envelope));
}

/** Sends the request to the service and returns its response. */
function forward(
  target: string,
  agent: Agent,
  { method, url = "/", headers }: IncomingMessage,
  body: Buffer,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(url, target), { method, headers, agent }, resolve);
    sent.once("error", reject);
    sent.end(body);
  });
}
