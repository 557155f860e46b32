/** Metrics of outgoing mail. */
import { Counter, type Registry } from "prom-client";
import type { MailResult } from "./mail.queue.ts";

export type MailCounter = Counter<"outcome">;

/** Counts attempts by outcome. */
export function createMailCounter(registry: Registry): MailCounter {
  const counter = new Counter({
    name: "waymark_mail_attempts_total",
    help: "Attempts to send a mail, by outcome: sent, kept (written to a file), waiting (will be retried), failed (given up)",
    labelNames: ["outcome"] as const,
    registers: [registry],
  });
  // rate() misses the first increment of a series that didn't exist before.
  for (const outcome of ["sent", "kept", "waiting", "failed"] satisfies MailResult[])
    counter.inc({ outcome }, 0);
  return counter;
}
