/** The mail worker: sends due mails when PostgreSQL notifies it or a sweep runs. */
import { setTimeout as pause } from "node:timers/promises";
import type { Registry } from "prom-client";
import type { Database } from "../platform/postgres/database.ts";
import { toTypedId } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import { listenToChannel } from "../platform/postgres/notify.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { withSpan, type Span, type Tracing } from "../platform/tracing/tracing.ts";
import { openBody } from "./mail.encryption.ts";
import { createMailCounter, type MailCounter } from "./mail.metrics.ts";
import {
  deleteExpiredMails,
  leaseDue,
  MAILS_CHANNEL,
  recordAttempt,
  type LeasedMail,
  type MailResult,
} from "./mail.queue.ts";
import type { MailTransport, TransportOutcome } from "./mail.transport.ts";

export interface MailWorkerDeps {
  database: Database;
  /** For the LISTEN connection. */
  databaseUrl: string;
  secretBox: Pick<SecretBox, "open">;
  transport: MailTransport;
  logger: Logger;
  registry: Registry;
  tracing?: Tracing | undefined;
}

export interface MailWorker extends AsyncDisposable {
  /** Sends all due mails. Resolves when none is due or the database is unavailable. */
  sweep(): Promise<void>;
  /** Deletes mails and mail files older than 30 days. */
  purgeExpired(): Promise<void>;
}

/** So that one slow delivery doesn't block the others. */
const MAX_CONCURRENT_SENDS = 4;
const STOP_TIMEOUT_MS = 10_000;
/** Less than the lease, after which another worker may send the mail again. */
const RECORD_TIMEOUT_MS = 60_000;
const RECORD_RETRY_MS = 1_000;

/** Starts sending. Disposing leases no more mails, and aborts those in flight after 10 seconds. */
export function startMailWorker(deps: MailWorkerDeps): MailWorker {
  const { database, databaseUrl, transport, logger } = deps;
  const attempts = createMailCounter(deps.registry);
  const stop = new AbortController();
  const abortSends = new AbortController();
  const senders = new Set<Promise<void>>();

  const addSender = (): void => {
    if (senders.size >= MAX_CONCURRENT_SENDS || stop.signal.aborted) return;
    const sender = sendDue()
      .catch((error: unknown) => {
        logger.warn({ error: (error as Error).message }, "polling for due mails failed; will retry");
      })
      .finally(() => senders.delete(sender));
    senders.add(sender);
  };
  /** Sends mails one by one until none is due. After each leased mail it starts another sender, up to the maximum. */
  const sendDue = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const mail = await leaseDue(database);
      if (mail === null) return;
      addSender();
      const span = startMailSpan(deps, mail);
      await withSpan(span, () => sendOne(deps, mail, { span, attempts, signal: abortSends.signal }));
    }
  };
  const untilIdle = async (): Promise<void> => {
    while (senders.size > 0) await Promise.all(senders);
  };
  const listener = listenToChannel({
    url: databaseUrl,
    channel: MAILS_CHANNEL,
    applicationName: "waymark mails",
    logger,
    onNotification: addSender,
  });

  return {
    async sweep() {
      addSender();
      await untilIdle();
    },
    purgeExpired: async () => await transport.purgeExpired(await deleteExpiredMails(database)),
    async [Symbol.asyncDispose]() {
      stop.abort();
      const stopTimer = setTimeout(() => abortSends.abort(), STOP_TIMEOUT_MS);
      await listener[Symbol.asyncDispose]();
      await untilIdle();
      clearTimeout(stopTimer);
    },
  };
}

/** Recipient and subject are personal data and stay out of the span. */
function startMailSpan({ tracing }: MailWorkerDeps, { id, kind, attempt: number }: LeasedMail): Span | null {
  const attributes = {
    "waymark.mail.id": toTypedId("eml", id),
    "waymark.mail.kind": kind,
    "waymark.attempt.number": number,
  };
  return tracing?.startTrace("send mail", { kind: "client", attributes }) ?? null;
}

interface SendContext {
  span: Span | null;
  attempts: MailCounter;
  signal: AbortSignal;
}

async function sendOne(
  deps: MailWorkerDeps,
  mail: LeasedMail,
  { span, attempts, signal }: SendContext,
): Promise<void> {
  const { database, logger } = deps;
  const outcome = await attemptSend(deps, mail, signal);
  const result = await recordWithRetry(database, mail, { outcome, signal });
  attempts.inc({ outcome: result });
  if (outcome.kind !== "refused") return;
  span?.fail("refused");
  const id = toTypedId("eml", mail.id);
  const logFields = { mail: id, kind: mail.kind, attempt: mail.attempt, reason: outcome.reason };
  if (result === "failed") logger.error(logFields, "mail failed for good; resend it from the outbox");
  else logger.warn(logFields, "mail could not be sent; will retry");
}

async function attemptSend(
  { secretBox, transport }: MailWorkerDeps,
  mail: LeasedMail,
  signal: AbortSignal,
): Promise<TransportOutcome> {
  const { id, recipient: to, subject, createdAt } = mail;
  try {
    const body = openBody(secretBox, id, mail.sealedBody);
    return await transport.deliver({ id: toTypedId("eml", id), to, subject, ...body, createdAt }, signal);
  } catch (error) {
    return { kind: "refused", reason: (error as Error).message, isPermanent: false };
  }
}

/** Retries for a minute if PostgreSQL is unavailable: a mail whose outcome isn't recorded is sent again. */
async function recordWithRetry(
  database: Database,
  mail: LeasedMail,
  { outcome, signal }: { outcome: TransportOutcome; signal: AbortSignal },
): Promise<MailResult> {
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(RECORD_TIMEOUT_MS)]);
  for (;;) {
    try {
      return await recordAttempt(database, mail, outcome);
    } catch (error) {
      if (timeout.aborted) throw error;
      await pause(RECORD_RETRY_MS, undefined, { signal: timeout }).catch(() => undefined);
    }
  }
}
