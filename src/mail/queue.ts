/**
 * The mail queue in PostgreSQL. Workers lease mails with SKIP LOCKED, and an attempt's outcome is recorded only with the
 * lease's token.
 */
import { LockMode, raw } from "@mikro-orm/postgresql";
import { databaseNowMs } from "../core/postgres/clock.ts";
import type { Database, Reader } from "../core/postgres/database.ts";
import { newUuid } from "../core/ids.ts";
import { SECOND_MS, MINUTE_MS, HOUR_MS } from "../core/time.ts";
import { Mail, type MailStatus } from "./entity.ts";
import type { MailOutcome } from "./transport.ts";

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

/** Longer than the transport's timeout, so a lease expires only if its worker died. */
const LEASE_MS = 2 * MINUTE_MS;
const RETENTION_MS = 30 * 24 * HOUR_MS;

const inMs = (delayMs: number) => raw("clock_timestamp() + ? * interval '1 ms'", [delayMs]);

/** Leases the mail that has been due the longest. Returns null if none is due. */
export function leaseDue(database: Pick<Database, "transactional">): Promise<Mail | null> {
  return database.transactional(async (em) => {
    // Plus one millisecond, as stored times are rounded to milliseconds.
    const due = { status: "pending", dueAt: { $lte: inMs(1) } } as const;
    const lock = { orderBy: { dueAt: "asc" }, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE } as const;
    const mail = await em.findOne(Mail, due, lock);
    return (
      mail && em.assign(mail, { attempts: mail.attempts + 1, leaseToken: newUuid(), dueAt: inMs(LEASE_MS) })
    );
  });
}

/** Records an attempt's outcome and returns the mail's new status. A sent mail's body is deleted. */
export async function recordAttempt(
  database: Reader,
  { id, leaseToken, attempts }: Mail,
  outcome: MailOutcome,
): Promise<MailStatus> {
  const delayMs = RETRY_SCHEDULE[attempts];
  const status = outcome.status === "pending" && delayMs === undefined ? "failed" : outcome.status;
  await database.em().nativeUpdate(
    Mail,
    { id, leaseToken },
    {
      status,
      leaseToken: null,
      dueAt: status === "pending" && delayMs !== undefined ? inMs(delayMs) : null,
      lastError: outcome.error,
      ...(status === "sent" && { sentAt: inMs(0), sealedBody: null }),
    },
  );
  return status;
}

/** Deletes mails older than 30 days by PostgreSQL's clock. Returns that cut-off time in milliseconds since 1970. */
export async function deleteExpiredMails(database: Reader): Promise<number> {
  const beforeMs = (await databaseNowMs(database)) - RETENTION_MS;
  await database.em().nativeDelete(Mail, { createdAt: { $lt: new Date(beforeMs) } });
  return beforeMs;
}
