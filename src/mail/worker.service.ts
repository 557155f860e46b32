/** A worker for mails: it sends what PostgreSQL says is due, whenever somebody pokes it. */
import { setTimeout as pause } from "node:timers/promises";
import type { Registry } from "prom-client";
import type { Database } from "../platform/database.ts";
import { toTypedId } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import { listenTo } from "../platform/notifications.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { during, type Span, type Tracing } from "../platform/tracing.ts";
import { openBody } from "./mail.body.ts";
import { createMailCounter, type MailCounter } from "./mail.metrics.ts";
import {
  deleteOld,
  leaseDue,
  MAILS_CHANNEL,
  recordAttempt,
  type LeasedMail,
  type MailEnd,
} from "./mail.queue.ts";
import type { MailTransport, TransportOutcome } from "./mail.transport.ts";

export interface MailWorkerParts {
  database: Database;
  /** For the connection on which it listens. */
  databaseUrl: string;
  box: Pick<SecretBox, "open">;
  transport: MailTransport;
  logger: Logger;
  registry: Registry;
  tracing?: Tracing | undefined;
}

export interface MailWorker extends AsyncDisposable {
  /** Sends whatever is due; resolves when nothing more is, or when the database is away. */
  sweep(): Promise<void>;
  /** Removes what is past its 30 days. */
  retire(): Promise<void>;
}

/** On their way at once: a mail server that is slow with one mail does not keep the others. */
const AT_ONCE = 4;
const STOP_WITHIN_MS = 10_000;
/** As long as the lease lasts: afterwards another may have sent it again. */
const RECORD_WITHIN_MS = 60_000;
const RECORD_AGAIN_MS = 1_000;

/** Starts to send. Disposing takes nothing more, and waits a while for what is on its way. */
export function startMailWorker(parts: MailWorkerParts): MailWorker {
  const { database, databaseUrl, transport, logger } = parts;
  const attempts = createMailCounter(parts.registry);
  const stop = new AbortController();
  const giveUp = new AbortController();
  const lanes = new Set<Promise<void>>();

  const addLane = (): void => {
    if (lanes.size >= AT_ONCE || stop.signal.aborted) return;
    const lane = sendDue()
      .catch((error: unknown) => {
        logger.warn({ error: (error as Error).message }, "mails could not be looked for; it is tried again");
      })
      .finally(() => lanes.delete(lane));
    lanes.add(lane);
  };
  /** One after the other, until none is due. Where there is one, there may be another: a further lane looks. */
  const sendDue = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const mail = await leaseDue(database);
      if (mail === null) return;
      addLane();
      const span = beginSpan(parts, mail);
      await during(span, () => sendOne(parts, mail, { span, attempts, signal: giveUp.signal }));
    }
  };
  const settled = async (): Promise<void> => {
    while (lanes.size > 0) await Promise.all(lanes);
  };
  const listener = listenTo({
    url: databaseUrl,
    channel: MAILS_CHANNEL,
    name: "waymark mails",
    logger,
    onNotification: addLane,
  });

  return {
    async sweep() {
      addLane();
      await settled();
    },
    retire: async () => await transport.retire(await deleteOld(database)),
    async [Symbol.asyncDispose]() {
      stop.abort();
      const late = setTimeout(() => giveUp.abort(), STOP_WITHIN_MS);
      await listener[Symbol.asyncDispose]();
      await settled();
      clearTimeout(late);
    },
  };
}

/** To whom it goes, and what it says, is nobody else's business. */
function beginSpan({ tracing }: MailWorkerParts, { id, kind, attempt: number }: LeasedMail): Span | null {
  const attributes = {
    "waymark.mail.id": toTypedId("eml", id),
    "waymark.mail.kind": kind,
    "waymark.attempt.number": number,
  };
  return tracing?.begin("send mail", { kind: "client", attributes }) ?? null;
}

interface Sending {
  span: Span | null;
  attempts: MailCounter;
  signal: AbortSignal;
}

async function sendOne(
  parts: MailWorkerParts,
  mail: LeasedMail,
  { span, attempts, signal }: Sending,
): Promise<void> {
  const { database, logger } = parts;
  const outcome = await attempt(parts, mail, signal);
  const end = await recordInTime(database, mail, { outcome, signal });
  attempts.inc({ outcome: end });
  if (outcome.kind !== "refused") return;
  span?.fail("refused");
  const id = toTypedId("eml", mail.id);
  const told = { mail: id, kind: mail.kind, attempt: mail.attempt, reason: outcome.reason };
  if (end === "failed") logger.error(told, "a mail was given up; the outbox can send it again");
  else logger.warn(told, "a mail could not be sent; it is tried again");
}

async function attempt(
  { box, transport }: MailWorkerParts,
  mail: LeasedMail,
  signal: AbortSignal,
): Promise<TransportOutcome> {
  const { id, recipient: to, subject, createdAt: writtenAt } = mail;
  try {
    const body = openBody(box, id, mail.sealedBody);
    return await transport.deliver({ id: toTypedId("eml", id), to, subject, ...body, writtenAt }, signal);
  } catch (error) {
    return { kind: "refused", reason: (error as Error).message, isPermanent: false };
  }
}

/** What was sent and is not recorded is sent again: so that is tried for as long as PostgreSQL may come back in time. */
async function recordInTime(
  database: Database,
  mail: LeasedMail,
  { outcome, signal }: { outcome: TransportOutcome; signal: AbortSignal },
): Promise<MailEnd> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(RECORD_WITHIN_MS)]);
  for (;;) {
    try {
      return await recordAttempt(database, mail, outcome);
    } catch (error) {
      if (late.aborted) throw error;
      await pause(RECORD_AGAIN_MS, undefined, { signal: late }).catch(() => undefined);
    }
  }
}
