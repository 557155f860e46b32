/** What partners do all day, through the balancer: requests of each kind, and a subscriber that comes back by itself. */
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { queryData } from "../graphql/client.ts";
import { JOB_CHANGED, webSocketUrl, type SubscriptionEvent } from "../graphql/subscription-client.ts";
import { createApiClient, type ApiResponse } from "../app/app-instance.ts";
import { getJob, listJobs, patchBatch, patchJob } from "../app/job-client.ts";
import { eventually } from "../faults/change-load.ts";

interface ApiAccess {
  readonly url: string;
  readonly key: string;
}

export interface ClusterTraffic {
  /** Whatever was not answered as it should be, as a sentence. */
  readonly failures: readonly string[];
  /** How often each kind was answered. */
  answeredCounts(): Record<string, number>;
  /** Resolves once so many more of each kind have been. */
  waitForMore(count: number): Promise<void>;
  /** Resolves once the last has been answered. */
  stop(): Promise<void>;
}

/** One request of its kind, or two; `turn` is another number at every call. */
type SendRequest = (turn: number) => Promise<void>;

const PAUSE_MS = 15;

const JOBS_QUERY = `{ jobs(first: 20) { nodes { markingNumber weight history(first: 3) { nodes { sequence } } } } }`;
const UPDATE_MUTATION = `mutation ($items: [UpdateJobInput!]!) {
  updateJobs(items: $items) { results { userErrors { message } } }
}`;

/** Two callers of each kind, one request after the other; `others` are kinds of the test's own. */
export function startClusterTraffic(
  { url, key }: ApiAccess,
  numbers: readonly string[],
  others: Record<string, SendRequest> = {},
): ClusterTraffic {
  const client = createApiClient(url);
  const markingNumberOf = (turn: number): string => numbers[turn % numbers.length] ?? "";
  const kinds: Record<string, SendRequest> = {
    ...others,
    list: async () => assertOk(await listJobs(client, { key }, "page_size=20")),
    get: async (turn) => assertOk(await getJob(client, { key }, markingNumberOf(turn))),
    patch: async (turn) => assertOk(await patchJob(client, { key }, markingNumberOf(turn), { weight: turn })),
    batch: async (turn) => {
      const items = numbers.slice(0, 10).map((marking_number) => ({ marking_number, piece_quantity: turn }));
      const answer = await patchBatch(client, { key }, items);
      assertOk(answer);
      expect(answer.body.data.results.map((one: { success: boolean }) => one.success)).not.toContain(false);
    },
    query: async () => void (await queryData(client, JOBS_QUERY, { key })),
    mutation: async (turn) => {
      const items = [{ markingNumber: markingNumberOf(turn), patch: { instructions: `Turn ${turn}` } }];
      const { updateJobs } = await queryData(client, UPDATE_MUTATION, { key, variables: { items } });
      expect(updateJobs.results).toEqual([{ userErrors: [] }]);
    },
  };
  return runTraffic(kinds);
}

export interface IdempotentRepeats {
  /** For `startTraffic`. */
  readonly sendTwice: SendRequest;
  /** How many changes were repeated at another API than the one that made them. */
  crossServerRepeats(): number;
}

interface RepeatOptions {
  readonly key: string;
  /** The addresses of the APIs that are sent requests now. */
  readonly activeUrls: () => string[];
}

/** Changes with an Idempotency-Key, each repeated once: at the other API, unless there is only one just then. */
export function createIdempotentRepeats(
  { key, activeUrls }: RepeatOptions,
  numbers: readonly string[],
): IdempotentRepeats {
  let elsewhere = 0;
  const send = async (url: string, turn: number): Promise<ApiResponse> => {
    const caller = { key, headers: { "idempotency-key": `turn-${turn}` } };
    const answer = await patchJob(createApiClient(url), caller, numbers[turn % numbers.length] ?? "", {
      weight: turn,
    });
    assertOk(answer);
    return answer;
  };
  return {
    async sendTwice(turn) {
      const first = activeUrls().at(turn % 2 === 0 ? 0 : -1) ?? "";
      const made = await send(first, turn);
      const other = activeUrls().find((url) => url !== first) ?? first;
      const repeated = await send(other, turn);
      expect(repeated.headers.get("idempotency-replayed")).toBe("true");
      expect(repeated.headers.get("etag")).toBe(made.headers.get("etag"));
      expect(repeated.body.data).toEqual(made.body.data);
      if (other !== first) elsewhere += 1;
    },
    crossServerRepeats: () => elsewhere,
  };
}

function assertOk({ status, body }: ApiResponse): void {
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body.error)}`);
}

function runTraffic(kinds: Record<string, SendRequest>): ClusterTraffic {
  const stopping = new AbortController();
  const failures: string[] = [];
  const answered = new Map(Object.keys(kinds).map((kind) => [kind, 0]));
  let turn = 0;
  const caller = async (kind: string, call: SendRequest): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await call((turn += 1));
        answered.set(kind, (answered.get(kind) ?? 0) + 1);
      } catch (error) {
        failures.push(`${new Date().toISOString()} ${kind}: ${errorText(error)}`);
      }
      await pause(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const callers = Object.entries(kinds).flatMap(([kind, call]) => [caller(kind, call), caller(kind, call)]);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(callers);
  };
  onTestFinished(stop);
  return {
    failures,
    answeredCounts: () => Object.fromEntries(answered),
    async waitForMore(count) {
      const wanted = [...answered].map(([kind, done]) => [kind, done + count] as const);
      await eventually(() => {
        const missing = wanted.filter(([kind, enough]) => (answered.get(kind) ?? 0) < enough);
        if (missing.length > 0)
          throw new Error(`Too few of ${missing.join(", ")}; ${failures.slice(0, 3).join("; ")}`);
      });
    },
    stop,
  };
}

/** `fetch` says what it was in the cause. */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

export interface ClusterSubscriber {
  /** The ids of the events that it knows of, by subscription or by asking for what it missed. */
  readonly seenEventIds: ReadonlySet<string>;
  /** How many of them it was told by subscription. */
  receivedCount(): number;
  /** How often its socket was lost and came back. */
  reconnectCount(): number;
  /** Asks for the last of what it missed, and ends. */
  stop(): Promise<void>;
}

const MISSED_EVENTS_QUERY = `query ($after: String!) {
  events(after: $after, first: 100) { nodes { id cursor } pageInfo { hasNextPage } }
}`;

/** As docs/guide/graphql.md has it: subscribe again first, then ask for what was missed since the last event's cursor. */
export function startClusterSubscriber({ url, key }: ApiAccess): ClusterSubscriber {
  const seenEventIds = new Set<string>();
  let [told, connections, missing] = [0, 0, false];
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
        missing = connections > 1;
      },
    },
  });
  const next = ({ data }: { data?: { jobChanged: SubscriptionEvent } | null | undefined }): void => {
    if (!data) return;
    if (missing) {
      const from = cursor;
      catchingUp = catchingUp.then(() => catchUp(from));
      missing = false;
    }
    told += 1;
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
    seenEventIds,
    receivedCount: () => told,
    reconnectCount: () => connections - 1,
    async stop() {
      await Promise.race([catchingUp, failed.promise]);
      await catchUp(cursor);
      end();
    },
  };
}
