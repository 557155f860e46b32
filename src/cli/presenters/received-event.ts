/** A received event for a person: what it is, of which job, whether it is genuine, and what changed. */
import { styleText } from "node:util";
import { z } from "zod";
import { escapeControlCharacters } from "../output.ts";
import type { ReceivedEvent } from "../local-receiver.ts";

/** As much of an event as is shown: a receiver must be ready to meet what it does not know. */
const eventSchema = z.object({
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
export function formatEvent({ receivedAt, verification, isDuplicate, event }: ReceivedEvent): string {
  const parsed = eventSchema.safeParse(event);
  const { type, data } = parsed.success ? parsed.data : { type: "(no event)", data: {} };
  const verificationText = verification.valid
    ? colorize("green", "verified")
    : `${colorize("red", "NOT VERIFIED")} ${escapeControlCharacters(verification.message)}`;
  const headline = [
    colorize("dim", receivedAt.toTimeString().slice(0, 8)),
    colorize("bold", escapeControlCharacters(type)),
    ...(data.job ? [colorize("cyan", escapeControlCharacters(data.job.marking_number))] : []),
    ...(data.sequence === undefined ? [] : [`#${data.sequence}`]),
    verificationText,
    ...(isDuplicate ? [colorize("yellow", "repeat")] : []),
  ];
  const changes = Object.entries(data.changes ?? {}).map(
    ([field, { from, to }]) =>
      `    ${escapeControlCharacters(field)}: ${colorize("dim", formatValue(from))} -> ${formatValue(to)}`,
  );
  const message = data.message === undefined ? [] : [`    ${escapeControlCharacters(data.message)}`];
  return [headline.join("  "), ...message, ...changes].join("\n");
}

/** The same for a program: one line of JSON. */
export function formatEventAsJson({
  receivedAt,
  webhookId,
  verification,
  isDuplicate,
  event,
}: ReceivedEvent): string {
  return JSON.stringify({
    received_at: receivedAt.toISOString(),
    webhook_id: webhookId,
    verified: verification.valid,
    problem: verification.valid ? null : verification.message,
    repeat: isDuplicate,
    event,
  });
}

function formatValue(value: unknown): string {
  return escapeControlCharacters(JSON.stringify(value) ?? "null");
}

function colorize(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}
