/** A received event for a person: what it is, of which job, whether it is genuine, and what changed. */
import { styleText } from "node:util";
import { z } from "zod";
import { printable } from "./output.ts";
import type { ReceivedEvent } from "./listen-receiver.ts";

/** As much of an event as is shown: a receiver must be ready to meet what it does not know. */
const shape = z.object({
  type: z.string(),
  data: z.object({
    job: z.object({ marking_number: z.string() }).optional().catch(undefined),
    sequence: z.number().optional().catch(undefined),
    message: z.string().optional().catch(undefined),
    changes: z
      .record(z.string(), z.object({ from: z.unknown(), to: z.unknown() }))
      .optional()
      .catch(undefined),
  }),
});

type Style = Parameters<typeof styleText>[0];

/** Lines for standard output; in colour where that is a terminal that has some. */
export function linesOf({ receivedAt, verification, isRepeat, event }: ReceivedEvent): string {
  const read = shape.safeParse(event);
  const { type, data } = read.success ? read.data : { type: "(no event)", data: {} };
  const checked = verification.valid
    ? paint("green", "verified")
    : `${paint("red", "NOT VERIFIED")} ${printable(verification.message)}`;
  const head = [
    paint("dim", receivedAt.toTimeString().slice(0, 8)),
    paint("bold", printable(type)),
    ...(data.job ? [paint("cyan", printable(data.job.marking_number))] : []),
    ...(data.sequence === undefined ? [] : [`#${data.sequence}`]),
    checked,
    ...(isRepeat ? [paint("yellow", "repeat")] : []),
  ];
  const changes = Object.entries(data.changes ?? {}).map(
    ([field, { from, to }]) => `    ${printable(field)}: ${paint("dim", shown(from))} -> ${shown(to)}`,
  );
  const message = data.message === undefined ? [] : [`    ${printable(data.message)}`];
  return [head.join("  "), ...message, ...changes].join("\n");
}

/** The same for a program: one line of JSON. */
export function jsonLineOf({ receivedAt, webhookId, verification, isRepeat, event }: ReceivedEvent): string {
  return JSON.stringify({
    received_at: receivedAt.toISOString(),
    webhook_id: webhookId,
    verified: verification.valid,
    problem: verification.valid ? null : verification.message,
    repeat: isRepeat,
    event,
  });
}

function shown(value: unknown): string {
  return printable(JSON.stringify(value) ?? "null");
}

function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}
