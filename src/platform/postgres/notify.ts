/** PostgreSQL's NOTIFY and LISTEN: how one process tells the others that there is something to do. A hint, never the truth. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Queryable } from "./database.ts";
import type { Logger } from "../logger.ts";
import { sql } from "./sql.ts";

/**
 * Notifies `channel`. Calls that come while one is under way become a single one after it, so that a flood of changes
 * costs no flood of statements. It is never part of the change's own transaction: PostgreSQL lets transactions that
 * notify commit only one after the other. A notification that is lost is made up for by whoever sweeps.
 */
export function createNotifier(database: Queryable, channel: string): () => void {
  return coalesce(0, () => notify(database, channel, ""));
}

/** NOTIFY takes a payload shorter than 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7_999;
/** The first of a flood goes at once; the rest is gathered for so long. */
const COALESCE_MS = 25;

/**
 * The same with words, such as ids: the payload is what has been named since the notification before, each once, with
 * commas between them. More than fit become an empty payload, which means anything.
 */
export function createPayloadNotifier(
  database: Queryable,
  channel: string,
): (words: readonly string[]) => void {
  let pendingWords = new Set<string>();
  const run = coalesce(COALESCE_MS, async () => {
    const payload = [...pendingWords].join(",");
    pendingWords = new Set();
    await notify(database, channel, payload.length > MAX_PAYLOAD_BYTES ? "" : payload);
  });
  return (words) => {
    for (const word of words) pendingWords.add(word);
    if (pendingWords.size > 0) run();
  };
}

/** `work`, one at a time, with at least `gapMs` between the end of one and the begin of the next; calls meanwhile become one. */
function coalesce(gapMs: number, work: () => Promise<void>): () => void {
  let isRunning = false;
  let isDue = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    while (isDue) {
      isDue = false;
      await work();
      if (gapMs > 0) await pause(gapMs);
    }
    isRunning = false;
  };
  return () => {
    isDue = true;
    if (!isRunning) void run();
  };
}

async function notify(database: Queryable, channel: string, payload: string): Promise<void> {
  // No need to wait for the disk: there is nothing in it that could be lost.
  const statement = sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${payload})`;
  await database.query(statement).catch(() => undefined);
}

export interface ListenOptions {
  url: string;
  channel: string;
  /** What the connection is called in `pg_stat_activity`. */
  applicationName: string;
  logger: Logger;
  /** Also called after each (re)connection, with an empty payload: anything may have been notified meanwhile. */
  onNotification: (payload: string) => void;
}

const RECONNECT_DELAY_MS = 500;
const CONNECT_TIMEOUT_MS = 3_000;
/** A connection that something on the way has dropped is found dead by asking now and then; nothing else is ever sent on it. */
const KEEP_ALIVE_IDLE_MS = 10_000;
/** Whether the other side hears of it or not. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Listens on a connection of its own, made again whenever it is lost. */
export function listenToChannel(options: ListenOptions): AsyncDisposable {
  const { channel, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      const reason = await listenUntilLost(options, signal);
      if (signal.aborted) return;
      logger.warn({ channel, reason }, "listening was interrupted; it is tried again");
      await pause(RECONNECT_DELAY_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const listening = listen();
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await listening;
    },
  };
}

/** Resolves with the reason when the connection cannot be made, is lost, or is to be closed. */
async function listenUntilLost(
  { url, channel, applicationName, onNotification }: ListenOptions,
  signal: AbortSignal,
): Promise<string> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_IDLE_MS,
  });
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>();
  client.on("error", (error) => lose(error.message));
  client.on("end", () => lose("the connection ended"));
  client.on("notification", ({ payload = "" }) => onNotification(payload));
  const stop = (): void => lose("stopped");
  signal.addEventListener("abort", stop);
  try {
    await client.connect();
    await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    onNotification("");
    return await lost;
  } catch (error) {
    return (error as Error).message;
  } finally {
    signal.removeEventListener("abort", stop);
    await closeClient(client);
  }
}

/** Says goodbye, and hangs up on who does not answer: a process that stops must not wait for a connection that is dead. */
async function closeClient(client: pg.Client): Promise<void> {
  const closeTimeout = new AbortController();
  await Promise.race([
    client.end().catch(() => undefined),
    pause(CLOSE_TIMEOUT_MS, undefined, { signal: closeTimeout.signal }).catch(() => undefined),
  ]);
  closeTimeout.abort();
  client.connection.stream.destroy();
}
