/** Continuous API traffic through the load balancer, and a subscriber that reconnects. */
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { queryData } from "../graphql/client.ts";
import { JOB_CHANGED, webSocketUrl, type SubscriptionEvent } from "../graphql/subscription-client.ts";
import { createApiClient, type ApiResponse } from "../app/app-instance.ts";
import { getJob, listJobs, patchBatch, patchJob } from "../app/job-client.ts";
import { eventually } from "../eventually.ts";

interface ApiAccess {
  readonly url: string;
  readonly key: string;
}

/** Sends one or two requests. `requestNumber` is unique. */
type SendRequest = (requestNumber: number) => Promise<void>;

const PAUSE_MS = 15;

const JOBS_QUERY = `{ jobs(first: 20) { nodes { markingNumber weight history(first: 3) { nodes { sequence } } } } }`;
const UPDATE_MUTATION = `mutation ($items: [UpdateJobInput!]!) {
  updateJobs(items: $items) { results { userErrors { message } } }
}`;

/** Runs two sequential loops per kind of request. `others` are additional kinds. */
export function startClusterTraffic(
  { url, key }: ApiAccess,
  numbers: readonly string[],
  others: Record<string, SendRequest> = {},
) {
  const client = createApiClient(url);
  const markingNumberOf = (requestNumber: number): string => numbers[requestNumber % numbers.length] ?? "";
  const kinds: Record<string, SendRequest> = {
    ...others,
    list: async () => assertOk(await listJobs(client, { key }, "page_size=20")),
    get: async (requestNumber) => assertOk(await getJob(client, { key }, markingNumberOf(requestNumber))),
    patch: async (requestNumber) =>
      assertOk(await patchJob(client, { key }, markingNumberOf(requestNumber), { weight: requestNumber })),
    batch: async (requestNumber) => {
      const items = numbers
        .slice(0, 10)
        .map((marking_number) => ({ marking_number, piece_quantity: requestNumber }));
      const response = await patchBatch(client, { key }, items);
      assertOk(response);
      expect(response.body.data.results).not.toContainEqual(expect.objectContaining({ success: false }));
    },
    query: async () => void (await queryData(client, JOBS_QUERY, { key })),
    mutation: async (requestNumber) => {
      const items = [
        { markingNumber: markingNumberOf(requestNumber), patch: { instructions: `Turn ${requestNumber}` } },
      ];
      const { updateJobs } = await queryData(client, UPDATE_MUTATION, { key, variables: { items } });
      expect(updateJobs.results).toEqual([{ userErrors: [] }]);
    },
  };
  return runTraffic(kinds);
}

/** Sends changes with an Idempotency-Key and repeats each once, at the other API server if there is one. */
export function createIdempotentRepeats(
  { key, activeUrls }: { key: string; activeUrls: () => string[] },
  numbers: readonly string[],
) {
  let crossServerRepeats = 0;
  const send = async (url: string, requestNumber: number): Promise<ApiResponse> => {
    const auth = { key, headers: { "idempotency-key": `turn-${requestNumber}` } };
    const response = await patchJob(
      createApiClient(url),
      auth,
      numbers[requestNumber % numbers.length] ?? "",
      {
        weight: requestNumber,
      },
    );
    assertOk(response);
    return response;
  };
  return {
    /** A kind of request for `startClusterTraffic`. */
    sendTwice: async (requestNumber: number) => {
      const first = activeUrls().at(requestNumber % 2 === 0 ? 0 : -1) ?? "";
      const original = await send(first, requestNumber);
      const other = activeUrls().find((url) => url !== first) ?? first;
      const repeated = await send(other, requestNumber);
      expect(repeated.headers.get("idempotency-replayed")).toBe("true");
      expect(repeated.headers.get("etag")).toBe(original.headers.get("etag"));
      expect(repeated.body.data).toEqual(original.body.data);
      if (other !== first) crossServerRepeats += 1;
    },
    /** Number of requests that were repeated at another API server. */
    crossServerRepeats: () => crossServerRepeats,
  };
}

function assertOk({ status, body }: ApiResponse): void {
  if (status !== 200) throw new Error(`status ${status}: ${JSON.stringify(body.error)}`);
}

function runTraffic(kinds: Record<string, SendRequest>) {
  const stopping = new AbortController();
  const failures: string[] = [];
  const answered = new Map(Object.keys(kinds).map((kind) => [kind, 0]));
  let requestNumber = 0;
  const loop = async (kind: string, send: SendRequest): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await send((requestNumber += 1));
        answered.set(kind, (answered.get(kind) ?? 0) + 1);
      } catch (error) {
        failures.push(`${new Date().toISOString()} ${kind}: ${errorText(error)}`);
      }
      await pause(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const loops = Object.entries(kinds).flatMap(([kind, send]) => [loop(kind, send), loop(kind, send)]);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(loops);
  };
  onTestFinished(stop);
  return {
    failures,
    /** Resolves after `count` more successful requests of each kind. */
    async waitForMore(count: number) {
      const wanted = [...answered].map(([kind, done]) => [kind, done + count] as const);
      await eventually(() => {
        const missing = wanted.filter(([kind, minimum]) => (answered.get(kind) ?? 0) < minimum);
        if (missing.length > 0)
          throw new Error(`Too few requests: ${missing.join(", ")}; ${failures.slice(0, 3).join("; ")}`);
      });
    },
    stop,
  };
}

/** Includes the cause, because `fetch` puts the reason there. */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

const MISSED_EVENTS_QUERY = `query ($after: String!) {
  events(after: $after, first: 100) { nodes { id cursor } pageInfo { hasNextPage } }
}`;

/** Follows docs/guide/graphql/subscriptions.md: after a reconnect, subscribes first, then queries the events since the last cursor. */
export function startClusterSubscriber({ url, key }: ApiAccess) {
  const seenEventIds = new Set<string>();
  let [receivedCount, connections, mustCatchUp] = [0, 0, false];
  let cursor: string | null = null;
  let catchingUp = Promise.resolve();

  const catchUp = async (from: string | null): Promise<void> => {
    for (let after = from; after !== null;) {
      const { events } = await queryData({ url }, MISSED_EVENTS_QUERY, { key, variables: { after } });
      for (const { id } of events.nodes) seenEventIds.add(id);
      after = events.pageInfo.hasNextPage ? events.nodes.at(-1).cursor : null;
    }
  };
  const client = createClient({
    url: webSocketUrl({ url }),
    webSocketImpl: WebSocket,
    connectionParams: { "x-api-key": key },
    retryAttempts: 1_000,
    retryWait: () => pause(100),
    on: {
      connected() {
        connections += 1;
        mustCatchUp = connections > 1;
      },
    },
  });
  const next = ({ data }: { data?: { jobChanged: SubscriptionEvent } | null | undefined }): void => {
    if (!data) return;
    if (mustCatchUp) {
      const from = cursor;
      catchingUp = catchingUp.then(() => catchUp(from));
      mustCatchUp = false;
    }
    receivedCount += 1;
    seenEventIds.add(data.jobChanged.id);
    cursor = data.jobChanged.cursor;
  };
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const end = client.subscribe<{ jobChanged: SubscriptionEvent }>(
    { query: JOB_CHANGED },
    { next, error: failed.reject, complete: () => undefined },
  );
  onTestFinished(async () => client.dispose());
  return {
    /** IDs of all events received by subscription or by query. */
    seenEventIds,
    receivedCount: () => receivedCount,
    reconnectCount: () => connections - 1,
    /** Queries the remaining missed events and disconnects. */
    async stop() {
      await Promise.race([catchingUp, failed.promise]);
      await catchUp(cursor);
      end();
    },
  };
}
