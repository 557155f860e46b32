/** PostgreSQL's NOTIFY and LISTEN: how one process tells the others that there is something to do. A hint, never the truth. */
import pg from "pg";
import type { Queryable } from "./database.ts";
import type { Logger } from "./logger.ts";
import { sql } from "./sql.ts";

/**
 * Notifies `channel`. Calls that come while one is under way become a single one after it, so that a flood of changes
 * costs no flood of statements. It is never part of the change's own transaction: PostgreSQL lets transactions that
 * notify commit only one after the other. A notification that is lost is made up for by whoever sweeps.
 */
export function createNotifier(database: Queryable, channel: string): () => void {
  let isNotifying = false;
  let isDue = false;
  const run = async (): Promise<void> => {
    isNotifying = true;
    while (isDue) {
      isDue = false;
      // No need to wait for the disk: there is nothing in it that could be lost.
      const notify = sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, '')`;
      await database.query(notify).catch(() => undefined);
    }
    isNotifying = false;
  };
  return () => {
    isDue = true;
    if (!isNotifying) void run();
  };
}

export interface ListenOptions {
  url: string;
  channel: string;
  /** What the connection is called in `pg_stat_activity`. */
  name: string;
  logger: Logger;
  /** Also called after each (re)connection: something may have been notified meanwhile. */
  onNotification: () => void;
}

const RECONNECT_AFTER_MS = 500;

/** Listens on a connection of its own, made again whenever it is lost. */
export function listenTo({ url, channel, name, logger, onNotification }: ListenOptions): AsyncDisposable {
  let isStopping = false;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;

  const connect = async (): Promise<void> => {
    const next = new pg.Client({ connectionString: url, application_name: name, keepAlive: true });
    client = next;
    let isLost = false;
    const lose = (error?: Error): void => {
      if (isLost || isStopping) return;
      isLost = true;
      logger.warn(
        { channel, error: error?.message ?? "ended" },
        "listening was interrupted; it is tried again",
      );
      void next.end().catch(() => undefined);
      timer = setTimeout(() => void connect(), RECONNECT_AFTER_MS);
    };
    next.on("error", lose).on("end", () => lose());
    next.on("notification", onNotification);
    try {
      await next.connect();
      await next.query(`listen ${pg.escapeIdentifier(channel)}`);
      onNotification();
    } catch (error) {
      lose(error as Error);
    }
  };

  const connected = connect();
  return {
    async [Symbol.asyncDispose]() {
      isStopping = true;
      clearTimeout(timer);
      await connected;
      await client?.end().catch(() => undefined);
    },
  };
}
