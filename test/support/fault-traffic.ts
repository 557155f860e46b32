/**
 * Callers of every kind while something breaks: REST, GraphQL and a subscription beside each other. Each answer is judged
 * as it comes: it is the right one, or a 503 in the envelope that says when to try again. Anything else is `wrong`.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { sql } from "../../src/platform/sql.ts";
import { startSubscriber } from "./fault-subscriber.ts";
import type { ServerProcess } from "./server-process.ts";
import { eventually } from "./webhook-faults.load.ts";
import type { FaultWorld } from "./webhook-faults.ts";

export const reads = ["list", "graphql"] as const;
export const changes = ["patch", "idempotent patch", "mutation"] as const;
const kinds = [...reads, ...changes];
type Kind = (typeof kinds)[number];

export interface Traffic {
  /** What no caller should ever get, in words. */
  readonly wrong: string[];
  /** How many calls were refused with 503 so far. */
  refused(): number;
  /** Resolves once calls of each kind, or of these, have been answered well so many times more. */
  succeeds(times?: number, of?: readonly Kind[]): Promise<void>;
  /** Resolves once calls of each kind, or of these, have been refused so many times more. */
  isRefused(times?: number, of?: readonly Kind[]): Promise<void>;
  /** Ends it; then: nothing was wrong, each change that was answered well is an event, and the subscriber has all of them. */
  check(): Promise<void>;
}

interface Call {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: object;
}

/** Between two calls of one kind. */
const BETWEEN_MS = 40;
/** Longer than anything here may take: PostgreSQL has 12 s to answer, and a connection 3 s to be made. */
const PATIENCE_MS = 40_000;

const QUERY = "query { jobs(first: 5) { nodes { markingNumber weight } } }";
const MUTATION = `mutation ($input: UpdateJobInput!) {
  updateJob(input: $input) { job { markingNumber } userErrors { message } }
}`;

/** `numbers`: jobs of the agent's, each of which one kind of change has to itself. */
export async function startTraffic(
  world: FaultWorld,
  server: Pick<ServerProcess, "url">,
  numbers: readonly string[],
): Promise<Traffic> {
  const subscriber = await startSubscriber(world, server);
  const stopping = new AbortController();
  const wrong: string[] = [];
  const acknowledged: number[] = [];
  const counts = { well: new Map<Kind, number>(), refused: new Map<Kind, number>() };
  let made = 0;

  const one = async (kind: Kind): Promise<void> => {
    made += 1;
    const value = made;
    const verdict = await judge(server, world.agent.key, callOf(kind, numbers, value));
    if (verdict === "well" || verdict === "refused") {
      counts[verdict].set(kind, (counts[verdict].get(kind) ?? 0) + 1);
      if (verdict === "well" && changes.some((change) => change === kind)) acknowledged.push(value);
    } else wrong.push(`${kind}: ${verdict}`);
  };
  const lanes = kinds.map(async (kind) => {
    while (!stopping.signal.aborted) {
      await one(kind);
      await pause(BETWEEN_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(lanes);
  };
  onTestFinished(stop);

  const until = async (
    verdict: keyof typeof counts,
    times: number,
    of: readonly Kind[] = kinds,
  ): Promise<void> => {
    const start = new Map(counts[verdict]);
    await eventually(() => {
      for (const kind of of) {
        const more = (counts[verdict].get(kind) ?? 0) - (start.get(kind) ?? 0);
        expect(more, `${kind} calls ${verdict}; ${wrong.slice(0, 3).join("\n")}`).toBeGreaterThanOrEqual(
          times,
        );
      }
    });
  };
  return {
    wrong,
    refused: () => [...counts.refused.values()].reduce((sum, count) => sum + count, 0),
    succeeds: (times = 3, of) => until("well", times, of),
    isRefused: (times = 1, of) => until("refused", times, of),
    async check() {
      await stop();
      expect(wrong).toEqual([]);
      await checkAcknowledged(world, acknowledged);
      await subscriber.check();
    },
  };
}

function callOf(kind: Kind, numbers: readonly string[], value: number): Call {
  const number = numbers[kinds.indexOf(kind) % numbers.length] as string;
  const patch = { path: `/v1/jobs/by-marking/${number}`, method: "PATCH", body: { weight: value } };
  const variables = { input: { markingNumber: number, patch: { weight: value } } };
  const calls: Record<Kind, Call> = {
    list: { path: "/v1/jobs?page_size=5" },
    patch,
    "idempotent patch": { ...patch, headers: { "idempotency-key": `fault-${value}` } },
    graphql: { path: "/graphql", method: "POST", body: { query: QUERY } },
    mutation: { path: "/graphql", method: "POST", body: { query: MUTATION, variables } },
  };
  return calls[kind];
}

/** `well`, `refused`, or what is wrong with the answer. */
async function judge(
  { url }: Pick<ServerProcess, "url">,
  key: string,
  { path, method = "GET", headers = {}, body }: Call,
): Promise<string> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: { "x-api-key": key, ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    const told = `${response.status} ${text}`;
    if (response.status === 200) return isWell(text) ? "well" : told;
    if (response.status !== 503) return told;
    if (response.headers.get("retry-after") === null) return `no Retry-After: ${told}`;
    return isRefusal(text) ? "refused" : told;
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    return `no answer: ${String(error)} ${cause?.code ?? ""}`;
  }
}

interface Told {
  success?: boolean;
  error?: { code: string; message: string };
  data?: { updateJob?: { userErrors: unknown[] } };
  errors?: { message: string; extensions: { code: string } }[];
}

function isWell(text: string): boolean {
  const { success = true, errors, data } = JSON.parse(text) as Told;
  return success && !errors && (data?.updateJob?.userErrors ?? []).length === 0;
}

/** In the envelope, or in GraphQL's words; of the cause nothing is told. */
function isRefusal(text: string): boolean {
  const { error, errors } = JSON.parse(text) as Told;
  const codes = [error?.code, ...(errors ?? []).map(({ extensions }) => extensions.code)].filter(Boolean);
  const isTold = /ECONN|127\.0\.0\.1|space left|slots|\b(5[378]|08)[0-9A-Z]{3}\b/.test(text);
  return (
    !isTold &&
    codes.length > 0 &&
    codes.every((code) => code === "ServiceUnavailableException" || code === "SERVICE_UNAVAILABLE")
  );
}

/** A change that was answered with success happened, and is told. */
async function checkAcknowledged({ database }: FaultWorld, values: readonly number[]): Promise<void> {
  const events = await database.query<{ weight: number }>(sql`
    select (changes #>> '{weight,to}')::float8 as weight from job_event where changes ? 'weight'`);
  const told = new Set(events.map(({ weight }) => weight));
  expect(values.filter((value) => !told.has(value))).toEqual([]);
}
