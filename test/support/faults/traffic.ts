/**
 * Concurrent REST, GraphQL and subscription traffic for fault tests. Each response must be a success or a well-formed 503
 * with Retry-After; all others are collected in `unexpectedAnswers`.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { eventually } from "../eventually.ts";
import type { FaultFixture } from "./webhook.fixture.ts";
import type { Database } from "../../../src/core/postgres/database.ts";
import { toTypedId } from "../../../src/core/ids.ts";
import { waitUntilFeedIsComplete } from "../app/feed-client.ts";
import { subscribeAndWait } from "../graphql/subscription-client.ts";
import { queryData } from "../graphql/client.ts";

export const readKinds = ["list", "graphql"] as const;
export const changeKinds = ["patch", "idempotent patch", "mutation"] as const;
const kinds = [...readKinds, ...changeKinds];
type CallKind = (typeof kinds)[number];

interface Call {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: object;
}

/** Pause between two calls of one kind. */
const PAUSE_MS = 40;
/** Longer than the server's limits: 12 s for PostgreSQL to respond, and 3 s to connect. */
const TIMEOUT_MS = 40_000;

const QUERY = "query { jobs(first: 5) { nodes { markingNumber weight } } }";
const MUTATION = `mutation ($input: UpdateJobInput!) {
  updateJob(input: $input) { job { markingNumber } userErrors { message } }
}`;

/** `numbers` are Marking Numbers of the agent's jobs, one for each kind of change. */
export async function startFaultTraffic(
  fixture: FaultFixture,
  server: Pick<ServerProcess, "url">,
  numbers: readonly string[],
) {
  const subscriber = await startFaultSubscriber(fixture, server);
  const stopping = new AbortController();
  const unexpectedAnswers: string[] = [];
  const rejectedAnswers: string[] = [];
  const acknowledged: number[] = [];
  const counts = { success: new Map<CallKind, number>(), rejected: new Map<CallKind, number>() };
  let sentCount = 0;

  const sendOne = async (kind: CallKind): Promise<void> => {
    sentCount += 1;
    const value = sentCount;
    const { verdict, text } = await sendAndClassify(
      server,
      fixture.agent.key,
      buildCall(kind, numbers, value),
    );
    if (verdict === "rejected") rejectedAnswers.push(`${kind}: ${text}`);
    if (verdict === "success" || verdict === "rejected") {
      counts[verdict].set(kind, (counts[verdict].get(kind) ?? 0) + 1);
      if (verdict === "success" && changeKinds.some((change) => change === kind)) acknowledged.push(value);
    } else unexpectedAnswers.push(`${kind}: ${text}`);
  };
  const loops = kinds.map(async (kind) => {
    while (!stopping.signal.aborted) {
      await sendOne(kind);
      await pause(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(loops);
  };
  onTestFinished(stop);

  const until = async (
    verdict: keyof typeof counts,
    times: number,
    ofKinds: readonly CallKind[] = kinds,
  ): Promise<void> => {
    const start = new Map(counts[verdict]);
    await eventually(() => {
      for (const kind of ofKinds) {
        const more = (counts[verdict].get(kind) ?? 0) - (start.get(kind) ?? 0);
        expect(
          more,
          `${kind} calls with ${verdict}; ${unexpectedAnswers.slice(0, 3).join("\n")}`,
        ).toBeGreaterThanOrEqual(times);
      }
    });
  };
  return {
    rejectedAnswers,
    /** Resolves after `times` more successes of each kind. */
    waitForSuccesses: (times = 3, ofKinds?: readonly CallKind[]) => until("success", times, ofKinds),
    /** Resolves after `times` more 503 responses of each kind. */
    waitForRejections: (times = 1, ofKinds?: readonly CallKind[]) => until("rejected", times, ofKinds),
    /** Stops, then expects no unexpected response, an event for each successful change, and a complete subscriber. */
    async stopAndVerify() {
      await stop();
      expect(unexpectedAnswers).toEqual([]);
      await checkAcknowledged(fixture, acknowledged);
      await subscriber.check();
    },
  };
}

function buildCall(kind: CallKind, numbers: readonly string[], value: number): Call {
  const number = numbers[kinds.indexOf(kind) % numbers.length] as string;
  const patch = { path: `/v1/jobs/by-marking/${number}`, method: "PATCH", body: { weight: value } };
  const variables = { input: { markingNumber: number, patch: { weight: value } } };
  const calls: Record<CallKind, Call> = {
    list: { path: "/v1/jobs?page_size=5" },
    patch,
    "idempotent patch": { ...patch, headers: { "idempotency-key": `fault-${value}` } },
    graphql: { path: "/graphql", method: "POST", body: { query: QUERY } },
    mutation: { path: "/graphql", method: "POST", body: { query: MUTATION, variables } },
  };
  return calls[kind];
}

/** `text`: the status and the body, or why there is no response. */
async function sendAndClassify(
  { url }: Pick<ServerProcess, "url">,
  key: string,
  { path, method = "GET", headers = {}, body }: Call,
): Promise<{ verdict: "success" | "rejected" | "unexpected"; text: string }> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: { "x-api-key": key, ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const answer = await response.text();
    const text = `${response.status} ${answer}`;
    if (response.status === 200) return { verdict: isSuccess(answer) ? "success" : "unexpected", text };
    if (response.status !== 503) return { verdict: "unexpected", text };
    if (response.headers.get("retry-after") === null)
      return { verdict: "unexpected", text: `no Retry-After: ${text}` };
    return { verdict: isUnavailable(answer.replaceAll(url, "")) ? "rejected" : "unexpected", text };
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    return { verdict: "unexpected", text: `no response: ${String(error)} ${cause?.code ?? ""}` };
  }
}

interface ResponseBody {
  success?: boolean;
  error?: { code: string; message: string };
  data?: { updateJob?: { userErrors: unknown[] } };
  errors?: { message: string; extensions: { code: string } }[];
}

function isSuccess(text: string): boolean {
  const { success = true, errors, data } = JSON.parse(text) as ResponseBody;
  return success && !errors && (data?.updateJob?.userErrors ?? []).length === 0;
}

/** True for a REST or GraphQL "unavailable" error, without the URL of its documentation, that does not reveal its cause. */
function isUnavailable(text: string): boolean {
  const { error, errors } = JSON.parse(text) as ResponseBody;
  const codes = [error?.code, ...(errors ?? []).map(({ extensions }) => extensions.code)].filter(Boolean);
  const leaksCause = /ECONN|127\.0\.0\.1|space left|slots|\b(5[378]|08)[0-9A-Z]{3}\b/.test(text);
  return (
    !leaksCause &&
    codes.length > 0 &&
    codes.every((code) => code === "ServiceUnavailableException" || code === "SERVICE_UNAVAILABLE")
  );
}

/** Expects an event for each successful change. */
async function checkAcknowledged({ database }: FaultFixture, values: readonly number[]): Promise<void> {
  const events = await database.query<{ weight: number }>(sql`
    select (changes #>> '{weight,to}')::float8 as weight from job_event where changes ? 'weight'`);
  const weights = new Set(events.map(({ weight }) => weight));
  expect(values.filter((value) => !weights.has(value))).toEqual([]);
}

/** The only close code allowed when a database is unavailable. */
const TRY_AGAIN_LATER = 1013;

const MISSED_EVENTS_QUERY = `query ($after: String) {
  events(first: 100, after: $after) {
    nodes { id sequence job { markingNumber } } pageInfo { hasNextPage endCursor }
  }
}`;

interface ReceivedEvent {
  id: string;
  sequence: number;
  job: { markingNumber: string } | null;
}

interface EventPage {
  events: { nodes: ReceivedEvent[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
}

async function startFaultSubscriber(
  { database, agent: { key } }: FaultFixture,
  server: Pick<ServerProcess, "url">,
) {
  await waitUntilFeedIsComplete(database);
  const earlier = new Set(await eventIds(database));
  const subscription = await subscribeAndWait(server, key);
  let closed: unknown = null;
  void subscription.ended.then((reason) => (closed = (reason as { code?: number } | null)?.code ?? reason));

  const queryMissed = async (): Promise<ReceivedEvent[]> => {
    const missedEvents: ReceivedEvent[] = [];
    for (let after = subscription.events.at(-1)?.cursor; ;) {
      const { events } = (await queryData(server, MISSED_EVENTS_QUERY, {
        key,
        variables: { after },
      })) as EventPage;
      missedEvents.push(...events.nodes.filter(({ id }) => !earlier.has(id)));
      if (!events.pageInfo.hasNextPage) return missedEvents;
      after = events.pageInfo.endCursor;
    }
  };
  return {
    /** Expects every event since the subscription started exactly once, and those of each job in order. */
    async check() {
      const later = (await eventIds(database)).filter((id) => !earlier.has(id)).toSorted();
      const received = await eventually(async () => {
        const all: ReceivedEvent[] = [
          ...subscription.events,
          ...(closed === null ? [] : await queryMissed()),
        ];
        expect(all.map(({ id }) => id).toSorted()).toEqual(later);
        return all;
      });
      expect([null, TRY_AGAIN_LATER]).toContain(closed);
      for (const jobEvents of Map.groupBy(received, ({ job }) => job?.markingNumber).values()) {
        const sequences = jobEvents.map(({ sequence }) => sequence);
        expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      }
    },
  };
}

async function eventIds(database: Database): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`select id from job_event`);
  return rows.map(({ id }) => toTypedId("evt", id));
}
