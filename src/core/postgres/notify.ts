/** PostgreSQL's NOTIFY and LISTEN. Notifications can get lost, so receivers also poll. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Queryable } from "./database.ts";
import type { Logger } from "../logger.ts";
import { sql } from "./sql.ts";
import { untilAborted, withTimeout } from "../concurrency/timeout.ts";

/** NOTIFY takes a payload shorter than 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7_999;

/**
 * Returns a function that notifies `channel`, with at least `gapMs` between two notifications. The payload is the distinct words
 * (such as ids) of all calls since the last one, joined by commas. If they do not fit, the payload is empty: anything may have
 * changed. It does not run in the change's transaction, because PostgreSQL serialises the commits of notifying transactions.
 */
export function createNotifier(
  database: Queryable,
  channel: string,
  gapMs = 0,
): (words?: readonly string[]) => void {
  let isRunning = false;
  let isDue = false;
  let pendingWords = new Set<string>();
  const run = async (): Promise<void> => {
    isRunning = true;
    while (isDue) {
      isDue = false;
      const words = [...pendingWords].join(",");
      pendingWords = new Set();
      const payload = words.length > MAX_PAYLOAD_BYTES ? "" : words;
      // The transaction writes nothing, so it need not wait for the disk.
      const statement = sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${payload})`;
      await database.query(statement).catch(() => undefined);
      if (gapMs > 0) await pause(gapMs);
    }
    isRunning = false;
  };
  return (words = []) => {
    for (const word of words) pendingWords.add(word);
    isDue = true;
    if (!isRunning) void run();
  };
}

/**
 * Notifies `channel` when the transaction of `on` commits, so that the receiver finds what it wrote. Such commits wait for each
 * other: only for rare work.
 */
export async function notifyOnCommit(on: Queryable, channel: string): Promise<void> {
  await on.query(sql`select pg_notify(${channel}, '')`);
}

export interface ListenOptions {
  url: string;
  channel: string;
  /** Shown in `pg_stat_activity`. */
  applicationName: string;
  logger: Logger;
  /** Also called with an empty payload after each connect, since notifications may have been missed. */
  onNotification: (payload: string) => void;
}

const RECONNECT_DELAY_MS = 500;
const CONNECT_TIMEOUT_MS = 3_000;
/** TCP keep-alive detects a dead connection, on which the client otherwise sends nothing. */
const KEEP_ALIVE_IDLE_MS = 10_000;
const CLOSE_TIMEOUT_MS = 1_000;

/** Listens on a separate connection, and reconnects when it is lost. Disposing stops it. */
export function listenToChannel(options: ListenOptions): AsyncDisposable {
  const { channel, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      const reason = await listenUntilLost(options, signal);
      if (signal.aborted) return;
      logger.warn({ channel, reason }, "lost the LISTEN connection; reconnecting");
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

/** Resolves with the reason when the connection fails or is lost, or without one when `signal` aborts. */
async function listenUntilLost(
  { url, channel, applicationName, onNotification }: ListenOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
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
  const listen = async (): Promise<void> => {
    await client.connect();
    await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    if (!signal.aborted) onNotification("");
  };
  // Not awaited, because a server that hangs would never answer.
  listen().catch((error: unknown) => lose((error as Error).message));
  const reason = await untilAborted(lost, signal);
  await withTimeout(client.end(), CLOSE_TIMEOUT_MS).catch(() => undefined);
  client.connection.stream.destroy();
  return reason;
}
