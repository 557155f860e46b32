/** The events that were received, in SQLite. What `store` has returned survives a crash. */
import { DatabaseSync } from "node:sqlite";

export interface QueuedEvent {
  /** The header `webhook-id`. */
  webhookId: string;
  /** ID of the job; null for events without one. */
  jobId: string | null;
  /** The version of the job; 0 for events without one. */
  sequence: number;
  /** The body of the request. */
  body: string;
}

interface PendingEvent extends QueuedEvent {
  /** Attempts that failed. */
  attempts: number;
  /** True if a newer event of the job was handled before. */
  isOutdated: boolean;
}

/** After this many failed attempts an event is given up. Its row stays in the table, with the last error. */
const MAX_ATTEMPTS = 10;
const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 10 * 60 * 1_000;
/** Waymark sends an event again for up to 30 days, with the same ID. */
const RETENTION_MS = 31 * 24 * 60 * 60 * 1_000;

const SCHEMA = `
  create table if not exists event (
    webhook_id text primary key,
    job_id text,
    sequence integer not null,
    body text not null,
    status text not null default 'pending' check (status in ('pending', 'done', 'failed')),
    attempts integer not null default 0,
    last_error text,
    received_at integer not null,
    next_attempt_at integer not null
  ) strict;
  create index if not exists event_pending on event (next_attempt_at) where status = 'pending';
  create index if not exists event_job on event (job_id, sequence);
`;

/** The oldest event that is due, unless an earlier event of its job is still pending. */
const NEXT = `
  select webhook_id as webhookId, job_id as jobId, sequence, body, attempts, exists (
    select 1 from event as newer
    where newer.job_id = event.job_id and newer.status = 'done' and newer.sequence > event.sequence
  ) as isOutdated
  from event
  where status = 'pending' and next_attempt_at <= ? and not exists (
    select 1 from event as earlier
    where earlier.job_id = event.job_id and earlier.status = 'pending' and earlier.sequence < event.sequence
  )
  order by received_at, sequence
  limit 1
`;

export class Queue {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec("pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000;");
    this.#database.exec(SCHEMA);
  }

  /** Returns false if the event is already stored. */
  store({ webhookId, jobId, sequence, body }: QueuedEvent): boolean {
    const now = Date.now();
    const insert = this.#database.prepare(`
      insert into event (webhook_id, job_id, sequence, body, received_at, next_attempt_at) values (?, ?, ?, ?, ?, ?)
      on conflict (webhook_id) do nothing`);
    return insert.run(webhookId, jobId, sequence, body, now, now).changes === 1;
  }

  /** Returns the next event to handle, or null if there is none now. */
  next(): PendingEvent | null {
    const row = this.#database.prepare(NEXT).get(Date.now());
    return row ? { ...(row as unknown as PendingEvent), isOutdated: row["isOutdated"] === 1 } : null;
  }

  markDone({ webhookId }: QueuedEvent): void {
    this.#database.prepare("update event set status = 'done' where webhook_id = ?").run(webhookId);
  }

  /** Schedules another attempt. Returns the delay in ms, or null after the last attempt. */
  markFailed({ webhookId, attempts }: PendingEvent, error: string): number | null {
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** attempts, MAX_DELAY_MS);
    const isLast = attempts + 1 >= MAX_ATTEMPTS;
    const update = this.#database.prepare(`
      update event set attempts = attempts + 1, last_error = ?, status = ?, next_attempt_at = ?
      where webhook_id = ?`);
    update.run(error, isLast ? "failed" : "pending", Date.now() + delayMs, webhookId);
    return isLast ? null : delayMs;
  }

  /** Deletes old events that were handled. */
  purge(): void {
    const purge = this.#database.prepare("delete from event where status = 'done' and received_at < ?");
    purge.run(Date.now() - RETENTION_MS);
  }

  close(): void {
    this.#database.close();
  }
}
