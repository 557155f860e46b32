/** Shared by the processes of all engines: commands, the signed POST, and the attempt log. */
import pg from "pg";
import { AddressGuard } from "../../src/core/http-client/address-guard.ts";
import { systemClock } from "../../src/core/clock.ts";
import { newUuid } from "../../src/core/ids.ts";
import { HttpClient } from "../../src/core/http-client/client.ts";
import type { AttemptResult } from "../../src/webhooks/dispatcher/lease.ts";
import { Sender } from "../../src/webhooks/dispatcher/sign-and-send.ts";
import type { EngineCommand, Message } from "./protocol.ts";

export interface Engine {
  /** Queues the first `count` messages; sending begins with `start`. */
  fill(count: number): Promise<void>;
  start(): Promise<void>;
  /** Resolves once every sent delivery is recorded. */
  stop(): Promise<void>;
}

export function requireSetting(name: "DATABASE_URL" | "MONGODB_URL"): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is missing`);
  return value;
}

/** Executes the benchmark's commands until it disconnects. */
export function serveEngine(engine: Engine): void {
  process.on("message", (command: EngineCommand) => {
    const run = command.do === "fill" ? engine.fill(command.count) : engine[command.do]();
    void run.then(() => process.send?.({ done: true }));
  });
  // Exit even if the engine has left handles open.
  process.once("disconnect", () => process.exit());
  process.send?.({ done: true });
}

/** Returns Waymark's production sender, which may also send to private IP addresses. */
export function openSender(): Sender {
  const http = new HttpClient({ guard: new AddressGuard({ allowPrivate: true }) });
  return new Sender({
    http,
    clock: systemClock,
    docsUrl: "https://waymark.example/guide/webhooks/quickstart",
  });
}

export interface Target {
  url: string;
  headers: Record<string, string>;
  secrets: string[];
}

export async function readTargets(pool: pg.Pool): Promise<Target[]> {
  const { rows } = await pool.query<{ url: string; secret: string }>(
    "select webhook_endpoint.url, secret from bench_endpoint join webhook_endpoint using (id) order by n",
  );
  return rows.map(({ url, secret }) => ({ url, headers: {}, secrets: [secret] }));
}

/** Yields the first `count` messages in chunks of 1,000. */
export async function* readMessages(pool: pg.Pool, count: number): AsyncGenerator<Message[]> {
  for (let from = 1; from <= count; from += 1_000) {
    const { rows } = await pool.query<Message>(
      "select endpoint, id, body from bench_message where n between $1 and $2 order by n",
      [from, Math.min(count, from + 999)],
    );
    yield rows;
  }
}

export interface Deliverer {
  pool: pg.Pool;
  /** Sends the message and resolves once its attempt is recorded; rejects if the delivery failed. */
  deliver(message: Message): Promise<void>;
}

export async function openDeliverer(): Promise<Deliverer> {
  const pool = new pg.Pool({ connectionString: requireSetting("DATABASE_URL"), max: 10 });
  const targets = await readTargets(pool);
  const sender = openSender();
  const log = new AttemptLog(pool);
  return {
    pool,
    async deliver({ endpoint, id, body }) {
      const target = targets[endpoint];
      if (!target) throw new Error(`Endpoint ${endpoint} does not exist`);
      const result = await sender.send({ endpoint: target, webhookId: id, body });
      await log.add(result);
      if (result.outcome.class !== "delivered") throw new Error(result.outcome.class);
    },
  };
}

/** Inserts attempts in batches: while one insert runs, further results wait for the next. Waymark's attempt log does the same. */
class AttemptLog {
  readonly #pool: pg.Pool;
  #waiting: AttemptResult[] = [];
  #next: Promise<void> | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  add(result: AttemptResult): Promise<void> {
    this.#waiting.push(result);
    this.#next ??= this.#writing.then(() => {
      const results = this.#waiting;
      this.#waiting = [];
      this.#next = null;
      this.#writing = this.#write(results);
      return this.#writing;
    });
    return this.#next;
  }

  async #write(results: readonly AttemptResult[]): Promise<void> {
    const of = <T>(pick: (result: AttemptResult) => T): T[] => results.map(pick);
    await this.#pool.query({
      name: "record",
      text: `insert into bench_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
          request_headers, response_headers, response_body)
        select id, delivery_id, 1, to_timestamp(started_at_ms / 1000), duration_ms, outcome, http_status, error,
          request_headers, response_headers, response_body
        from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::int[], $5::text[], $6::int[], $7::text[], $8::json[], $9::json[],
          $10::text[]) made (id, delivery_id, started_at_ms, duration_ms, outcome, http_status, error, request_headers,
          response_headers, response_body)`,
      values: [
        of(() => newUuid()),
        of(() => newUuid()),
        of(({ startedAtMs }) => startedAtMs),
        of(({ durationMs }) => Math.round(durationMs)),
        of(({ outcome }) => outcome.class),
        of(({ outcome }) => outcome.status),
        of(({ outcome }) => outcome.message),
        of(({ requestHeaders }) => JSON.stringify(requestHeaders)),
        of(({ responseHeaders }) => responseHeaders && JSON.stringify(responseHeaders)),
        of(({ responseBody }) => responseBody),
      ],
    });
  }
}
