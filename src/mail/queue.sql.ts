/**
 * The mail queue in PostgreSQL. Workers lease mails with SKIP LOCKED, and an attempt's outcome is recorded only with the
 * lease's token.
 */
import type { Queryable } from "../core/postgres/database.ts";
import { databaseNowMs } from "../core/postgres/clock.ts";
import { newUuid } from "../core/ids.ts";
import { sql } from "../core/postgres/sql.ts";
import { toIsoTime, SECOND_MS, MINUTE_MS, HOUR_MS } from "../core/time.ts";
import type { SealedValue } from "../core/secret-box.ts";
import { mailSealContext } from "./encryption.ts";
import type { TransportOutcome } from "./transport.ts";

/** Workers listen on this channel. A periodic sweep finds mails whose notification was lost. */
export const MAILS_CHANNEL = "mails";

/**
 * Wakes a worker. A notification within a transaction is delivered on commit, so the worker finds the row. Commits that notify
 * are serialized, which is acceptable because mails are rare.
 */
export async function notifyMailWorkers(on: Queryable): Promise<void> {
  await on.query(sql`select pg_notify(${MAILS_CHANNEL}, '')`);
}

/** The delay before each attempt, after the previous one. The mail fails after the last, about 36 hours after the first. */
export const RETRY_SCHEDULE: readonly number[] = [
  0,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  10 * HOUR_MS,
  18 * HOUR_MS,
];

/** Longer than the mailer's timeout, so a lease expires only if its worker died. */
const LEASE_MS = 2 * MINUTE_MS;

export interface LeasedMail {
  readonly id: string;
  readonly token: string;
  readonly recipient: string;
  readonly kind: string;
  readonly subject: string;
  readonly sealedBody: string;
  /** Starts at 1. */
  readonly attempt: number;
  readonly createdAt: Date;
}

/** Leases the mail that has been due the longest. Returns null if none is due. */
export async function leaseDue(database: Queryable): Promise<LeasedMail | null> {
  // Plus one millisecond, as stored times are rounded to milliseconds.
  const [row] = await database.query<Omit<LeasedMail, "createdAt"> & { createdAt: string }>(sql`
    update mail set attempts = attempts + 1, lease_token = ${newUuid()}::uuid,
      due_at = clock_timestamp() + ${LEASE_MS} * interval '1 ms'
    where id = (
      select id from mail where status = 'pending' and due_at <= clock_timestamp() + interval '1 ms'
      order by due_at limit 1 for update skip locked)
    returning id, lease_token as token, recipient, kind, subject, sealed_body as "sealedBody", attempts as attempt,
      created_at as "createdAt"`);
  return row ? { ...row, createdAt: new Date(toIsoTime(row.createdAt)) } : null;
}

export type MailResult = "sent" | "stored" | "failed" | "pending";

/** Records an attempt's outcome and returns the mail's new status. A sent mail's body is deleted. */
export async function recordAttempt(
  database: Queryable,
  { id, token, attempt }: LeasedMail,
  outcome: TransportOutcome,
): Promise<MailResult> {
  const result = resultOf(outcome, attempt);
  const delayMs = result === "pending" ? RETRY_SCHEDULE[attempt] : null;
  await database.query(sql`
    update mail set status = ${result}, lease_token = null,
      due_at = clock_timestamp() + ${delayMs}::float8 * interval '1 ms',
      last_error = ${outcome.kind === "refused" ? outcome.reason : null},
      sent_at = case when ${result === "sent"}::boolean then clock_timestamp() end,
      sealed_body = case when ${result === "sent"}::boolean then null else sealed_body end
    where id = ${id}::uuid and lease_token = ${token}::uuid`);
  return result;
}

function resultOf(outcome: TransportOutcome, attempt: number): MailResult {
  if (outcome.kind === "accepted") return "sent";
  if (outcome.kind === "stored") return "stored";
  return outcome.isPermanent || attempt >= RETRY_SCHEDULE.length ? "failed" : "pending";
}

const RETENTION_MS = 30 * 24 * HOUR_MS;

/** Deletes mails older than 30 days by PostgreSQL's clock. Returns that cut-off time in milliseconds since 1970. */
export async function deleteExpiredMails(database: Queryable): Promise<number> {
  const beforeMs = (await databaseNowMs(database)) - RETENTION_MS;
  await database.query(sql`delete from mail where created_at < ${new Date(beforeMs)}::timestamptz`);
  return beforeMs;
}

/** The latest encrypted body and its context, to check that WAYMARK_SECRET can open it; null if there is none. */
export async function latestSealedBody(on: Queryable): Promise<SealedValue | null> {
  const [row] = await on.query<{ id: string; sealed: string }>(
    sql`select id, sealed_body as sealed from mail where sealed_body is not null order by id desc limit 1`,
  );
  return row ? { sealed: row.sealed, context: mailSealContext(row.id) } : null;
}
