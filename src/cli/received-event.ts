/** Output of a received webhook: event type, job, signature check and changed fields. */
import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { z } from "zod";
import { escapeControlCharacters } from "./output.ts";
import type { ReceivedEvent } from "./local-receiver.ts";

/** The displayed part of an event. Unknown or malformed fields are ignored, because a receiver must accept new ones. */
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

/** Returns lines for `stream`, coloured if it is a terminal that supports colour. */
export function formatEvent(
  { receivedAt, verification, isDuplicate, event }: ReceivedEvent,
  stream: Writable,
): string {
  const colorize = (style: Style, text: string): string => styleText(style, text, { stream });
  const parsed = eventSchema.safeParse(event);
  const { type, data } = parsed.success ? parsed.data : { type: "(not an event)", data: {} };
  const verificationText = verification.valid
    ? colorize("green", "verified")
    : `${colorize("red", "NOT VERIFIED")} ${escapeControlCharacters(verification.message)}`;
  const headline = [
    colorize("dim", receivedAt.toTimeString().slice(0, 8)),
    colorize("bold", escapeControlCharacters(type)),
    ...(data.job ? [colorize("cyan", escapeControlCharacters(data.job.marking_number))] : []),
    ...(data.sequence === undefined ? [] : [`#${data.sequence}`]),
    verificationText,
    ...(isDuplicate ? [colorize("yellow", "duplicate")] : []),
  ];
  const changes = Object.entries(data.changes ?? {}).map(
    ([field, { from, to }]) =>
      `    ${escapeControlCharacters(field)}: ${colorize("dim", formatValue(from))} -> ${formatValue(to)}`,
  );
  const message = data.message === undefined ? [] : [`    ${escapeControlCharacters(data.message)}`];
  return [headline.join("  "), ...message, ...changes].join("\n");
}

/** Returns one line of JSON without a line break, for `--ndjson`. */
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
