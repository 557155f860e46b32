/**
 * Callers of every kind while something breaks: REST, GraphQL and a subscription beside each other. Each answer is judged
 * as it comes: it is the right one, or a 503 in the envelope that says when to try again. Anything else is `wrong`.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { startFaultSubscriber } from "./subscriber.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { eventually } from "./change-load.ts";
import type { FaultFixture } from "./webhook.fixture.ts";

export const readKinds = ["list", "graphql"] as const;
export const changeKinds = ["patch", "idempotent patch", "mutation"] as const;
const kinds = [...readKinds, ...changeKinds];
type CallKind = (typeof kinds)[number];

export interface FaultTraffic {
  /** What no caller should ever get, in words. */
  readonly unexpectedAnswers: string[];
  /** How many calls were refused with 503 so far. */
  rejectedCount(): number;
  /** Resolves once calls of each kind, or of these, have been answered well so many times more. */
  waitForSuccesses(times?: number, of?: readonly CallKind[]): Promise<void>;
  /** Resolves once calls of each kind, or of these, have been refused so many times more. */
  waitForRejections(times?: number, of?: readonly CallKind[]): Promise<void>;
  /** Ends it; then: nothing was wrong, each change that was answered well is an event, and the subscriber has all of them. */
  stopAndVerify(): Promise<void>;
}

interface Call {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: object;
}

/** Between two calls of one kind. */
const PAUSE_MS = 40;
/** Longer than anything here may take: PostgreSQL has 12 s to answer, and a connection 3 s to be made. */
const TIMEOUT_MS = 40_000;

const QUERY = "query { jobs(first: 5) { nodes { markingNumber weight } } }";
const MUTATION = `mutation ($input: UpdateJobInput!) {
  updateJob(input: $input) { job { markingNumber } userErrors { message } }
}`;

/** `numbers`: jobs of the agent's, each of which one kind of change has to itself. */
export async function startFaultTraffic(
  fixture: FaultFixture,
  server: Pick<ServerProcess, "url">,
  numbers: readonly string[],
): Promise<FaultTraffic> {
  const subscriber = await startFaultSubscriber(fixture, server);
  const stopping = new AbortController();
  const unexpectedAnswers: string[] = [];
  const acknowledged: number[] = [];
  const counts = { well: new Map<CallKind, number>(), refused: new Map<CallKind, number>() };
  let made = 0;

  const sendOne = async (kind: CallKind): Promise<void> => {
    made += 1;
    const value = made;
    const verdict = await sendAndClassify(server, fixture.agent.key, buildCall(kind, numbers, value));
    if (verdict === "well" || verdict === "refused") {
      counts[verdict].set(kind, (counts[verdict].get(kind) ?? 0) + 1);
      if (verdict === "well" && changeKinds.some((change) => change === kind)) acknowledged.push(value);
    } else unexpectedAnswers.push(`${kind}: ${verdict}`);
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
    of: readonly CallKind[] = kinds,
  ): Promise<void> => {
    const start = new Map(counts[verdict]);
    await eventually(() => {
      for (const kind of of) {
        const more = (counts[verdict].get(kind) ?? 0) - (start.get(kind) ?? 0);
        expect(
          more,
          `${kind} calls ${verdict}; ${unexpectedAnswers.slice(0, 3).join("\n")}`,
        ).toBeGreaterThanOrEqual(times);
      }
    });
  };
  return {
    unexpectedAnswers,
    rejectedCount: () => [...counts.refused.values()].reduce((sum, count) => sum + count, 0),
    waitForSuccesses: (times = 3, of) => until("well", times, of),
    waitForRejections: (times = 1, of) => until("refused", times, of),
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

/** `well`, `refused`, or what is wrong with the answer. */
async function sendAndClassify(
  { url }: Pick<ServerProcess, "url">,
  key: string,
  { path, method = "GET", headers = {}, body }: Call,
): Promise<string> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: { "x-api-key": key, ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const told = `${response.status} ${text}`;
    if (response.status === 200) return isSuccess(text) ? "well" : told;
    if (response.status !== 503) return told;
    if (response.headers.get("retry-after") === null) return `no Retry-After: ${told}`;
    return isUnavailable(text) ? "refused" : told;
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    return `no answer: ${String(error)} ${cause?.code ?? ""}`;
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

/** In the envelope, or in GraphQL's words; of the cause nothing is told. */
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

/** A change that was answered with success happened, and is told. */
async function checkAcknowledged({ database }: FaultFixture, values: readonly number[]): Promise<void> {
  const events = await database.query<{ weight: number }>(sql`
    select (changes #>> '{weight,to}')::float8 as weight from job_event where changes ? 'weight'`);
  const told = new Set(events.map(({ weight }) => weight));
  expect(values.filter((value) => !told.has(value))).toEqual([]);
}
