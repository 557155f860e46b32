/**
 * Three partners that send all that the limits of their keys allow, in their own process. It ends the load when it gets a message,
 * and answers with the counts.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, request } from "undici";
import { BODY_BYTES_PER_TOKEN } from "../../src/api/graphql/execution/limits.ts";
import { defaultRateLimits } from "../../src/rate-limits/rate-limit.ts";
import { exponentialGapMs } from "../random.ts";

export interface PartnersCommand {
  url: string;
  /** Jobs of the partners, which the batches change. */
  numbers: readonly (readonly string[])[];
  keys: readonly string[];
  testKeys: readonly string[];
}

/** Answers by kind of request and status. */
export type PartnersReport = Record<string, Record<string, number>>;

const BATCH_ITEMS = 100;
const LARGE_BODY_BYTES = 200_000;
const LARGE_BODIES = {
  perSecond: defaultRateLimits.read.perSecond / (1 + Math.floor(LARGE_BODY_BYTES / BODY_BYTES_PER_TOKEN)),
};
const HANGING_ENDPOINTS = 1;
/** Each creates test jobs first, so that there is something to delete. */
const TEST_RESETS = { perSecond: 1 };

const dispatcher = new Agent({ connections: null });
const stopping = new AbortController();
const report: PartnersReport = {};

process.on("message", (command: PartnersCommand | "stop") => {
  if (command === "stop") stopping.abort();
  else void run(command).then(() => process.send?.(report));
});

async function run({ url, numbers, keys, testKeys }: PartnersCommand): Promise<void> {
  await using receiver = await startHangingReceiver();
  const send = async (kind: string, key: string, path: string, body: object): Promise<void> => {
    const { statusCode, body: answer } = await request(url + path, {
      method: path.startsWith("/v1/jobs") ? "PATCH" : "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify(body),
      dispatcher,
    });
    await answer.dump();
    const counts = (report[kind] ??= {});
    counts[statusCode] = (counts[statusCode] ?? 0) + 1;
  };
  for (const key of keys)
    for (let at = 0; at < HANGING_ENDPOINTS; at += 1)
      await send("endpoint", key, "/v1/webhook-endpoints", { url: receiver.url });
  process.send?.("ready");

  const largeBody = { query: `{ viewer { mode } } # ${"x".repeat(LARGE_BODY_BYTES)}` };
  await Promise.all(
    keys.flatMap((key, partner) => {
      const own = numbers[partner] ?? [];
      return [
        pace(defaultRateLimits.batch, (turn) =>
          send("batch", key, "/v1/jobs/batch", { jobs: batchOf(own, turn) }),
        ),
        pace(defaultRateLimits.write, (turn) => {
          const path = `/v1/jobs/by-marking/${encodeURIComponent(own[turn % own.length] ?? "")}`;
          return send("update", key, path, { instructions: `Ring ${turn} times` });
        }),
        pace(LARGE_BODIES, () => send("large body", key, "/graphql", largeBody)),
        pace(TEST_RESETS, async () => {
          await send("test jobs", testKeys[partner] ?? "", "/v1/test/jobs", { count: BATCH_ITEMS });
          await send("test reset", testKeys[partner] ?? "", "/v1/test/reset", {});
        }),
      ];
    }),
  );
}

/** The first jobs of a partner, so that its batches wait for each other. */
const batchOf = (numbers: readonly string[], turn: number) =>
  numbers
    .slice(0, BATCH_ITEMS)
    .map((marking_number) => ({ marking_number, instructions: `Ring ${turn} times` }));

/** Sends at the times of a Poisson process, whether or not earlier requests are answered. */
async function pace(
  { perSecond }: { perSecond: number },
  send: (turn: number) => Promise<void>,
): Promise<void> {
  const sent: Promise<void>[] = [];
  while (!stopping.signal.aborted) {
    sent.push(send(sent.length));
    await pause(exponentialGapMs(perSecond));
  }
  await Promise.all(sent);
}

/** Accepts webhooks and never answers. */
async function startHangingReceiver(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
