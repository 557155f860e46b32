/** What operators see of mails: whether they go out. */
import { Counter, type Registry } from "prom-client";
import type { MailResult } from "./mail.queue.ts";

export type MailCounter = Counter<"outcome">;

/** One for each attempt, by what became of the mail. */
export function createMailCounter(registry: Registry): MailCounter {
  const counter = new Counter({
    name: "waymark_mail_attempts_total",
    help: "Attempts to send a mail by what became of it: sent, kept as a file, waiting to be tried again, failed for good",
    labelNames: ["outcome"] as const,
    registers: [registry],
  });
  // There from the start: a rate knows nothing of a first failure that comes with its own series.
  for (const outcome of ["sent", "kept", "waiting", "failed"] satisfies MailResult[])
    counter.inc({ outcome }, 0);
  return counter;
}
