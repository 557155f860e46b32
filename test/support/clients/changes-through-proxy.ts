/** Checks that the changes which a client made through an unreliable proxy were applied exactly once. */
import { expect } from "vitest";
import type { SharedApp } from "../app/shared-app.ts";
import { startUnreliableProxy } from "./unreliable-proxy.ts";

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
  const markingNumbers = await app.createJobs(
    agent,
    Array.from({ length: JOBS }, () => ({})),
  );
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
