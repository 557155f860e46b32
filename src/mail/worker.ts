/** The mail worker: sends due mails when PostgreSQL notifies it or a sweep runs. */
import { SpanKind, type Span } from "@opentelemetry/api";
import { Counter, type Registry } from "prom-client";
import type { Database } from "../core/postgres/database.ts";
import { toTypedId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import { listenToChannel } from "../core/postgres/notify.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { markFailed, startTrace, withSpan } from "../core/tracing/tracing.ts";
import { type Mail, mailStatuses, openBody } from "./entity.ts";
import { deleteExpiredMails, leaseDue, recordAttempt } from "./queue.ts";
import { MAILS_CHANNEL } from "./service.ts";
import type { MailOutcome, MailTransport } from "./transport.ts";

export interface MailWorkerDeps {
  database: Database;
  /** For the LISTEN connection. */
  databaseUrl: string;
  secretBox: Pick<SecretBox, "open">;
  transport: MailTransport;
  logger: Logger;
  registry: Registry;
}

/** So that one slow delivery doesn't block the others. */
const MAX_CONCURRENT_SENDS = 4;
const STOP_TIMEOUT_MS = 10_000;

/** Sends from its creation on. Disposing leases no more mails, and aborts those in flight after 10 seconds. */
export class MailWorker implements AsyncDisposable {
  readonly #deps: MailWorkerDeps;
  readonly #attempts: Counter<"outcome">;
  readonly #listener: AsyncDisposable;
  readonly #stop = new AbortController();
  readonly #abortSends = new AbortController();
  readonly #senders = new Set<Promise<void>>();

  constructor(deps: MailWorkerDeps) {
    this.#deps = deps;
    this.#attempts = new Counter({
      name: "waymark_mail_attempts_total",
      help: "Attempts to send a mail, by outcome: sent, stored (written to a file), pending (will be retried), failed (given up)",
      labelNames: ["outcome"] as const,
      registers: [deps.registry],
    });
    // rate() misses the first increment of a series that didn't exist before.
    for (const outcome of mailStatuses) this.#attempts.inc({ outcome }, 0);
    this.#listener = listenToChannel({
      url: deps.databaseUrl,
      channel: MAILS_CHANNEL,
      applicationName: "waymark mails",
      logger: deps.logger,
      onNotification: () => this.#addSender(),
    });
  }

  /** Sends all due mails. Resolves when none is due or the database is unavailable. */
  async sweep(): Promise<void> {
    this.#addSender();
    await this.#untilIdle();
  }

  /** Deletes mails and mail files older than 30 days. */
  async purgeExpired(): Promise<void> {
    const { database, transport } = this.#deps;
    await transport.purgeExpired(await deleteExpiredMails(database));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const stopTimer = setTimeout(() => this.#abortSends.abort(), STOP_TIMEOUT_MS);
    await this.#listener[Symbol.asyncDispose]();
    await this.#untilIdle();
    clearTimeout(stopTimer);
  }

  async #untilIdle(): Promise<void> {
    while (this.#senders.size > 0) await Promise.all(this.#senders);
  }

  #addSender(): void {
    if (this.#senders.size >= MAX_CONCURRENT_SENDS || this.#stop.signal.aborted) return;
    const sender = this.#sendDue()
      .catch((error: unknown) => {
        const { message } = error as Error;
        this.#deps.logger.warn({ error: message }, "polling for due mails failed; will retry");
      })
      .finally(() => this.#senders.delete(sender));
    this.#senders.add(sender);
  }

  /** Sends mails one by one until none is due. After each leased mail it starts another sender, up to the maximum. */
  async #sendDue(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const mail = await leaseDue(this.#deps.database);
      if (mail === null) return;
      this.#addSender();
      // Recipient and subject are personal data and stay out of the span.
      const attributes = {
        "waymark.mail.id": toTypedId("eml", mail.id),
        "waymark.mail.kind": mail.kind,
        "waymark.attempt.number": mail.attempts,
      };
      const span = startTrace("send mail", { kind: SpanKind.CLIENT, attributes });
      await withSpan(span, () => this.#send(mail, span));
    }
  }

  async #send(mail: Mail, span: Span | null): Promise<void> {
    const { logger } = this.#deps;
    const outcome = await this.#deliver(mail);
    // If PostgreSQL is unavailable, the lease expires and the mail is sent again.
    const status = await recordAttempt(this.#deps.database, mail, outcome);
    this.#attempts.inc({ outcome: status });
    if (outcome.error === null) return;
    if (span) markFailed(span, "refused");
    const { kind, attempts: attempt } = mail;
    const logFields = { mail: toTypedId("eml", mail.id), kind, attempt, reason: outcome.error };
    if (status === "failed") logger.error(logFields, "mail failed for good; resend it from the outbox");
    else logger.warn(logFields, "mail could not be sent; will retry");
  }

  async #deliver({ id, recipient: to, subject, createdAt, sealedBody }: Mail): Promise<MailOutcome> {
    const { secretBox, transport } = this.#deps;
    try {
      const body = openBody(secretBox, id, sealedBody ?? "");
      const mail = { id: toTypedId("eml", id), to, subject, createdAt, ...body };
      return await transport.deliver(mail, this.#abortSends.signal);
    } catch (error) {
      return { status: "pending", error: (error as Error).message };
    }
  }
}
