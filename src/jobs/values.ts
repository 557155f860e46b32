/** Schemas for the values of a job. Types are strict without coercion; text limits count code points. */
import { z } from "zod";

const MAX_INTEGER = 2_147_483_647;

/** Counts code points, as PostgreSQL does: an emoji counts once. */
export function lengthInCodePoints(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** Text of at most `max` code points. Rejects U+0000 and lone surrogates, which PostgreSQL cannot store. */
export function textValue(max: number) {
  return z
    .string({ error: "must be a string" })
    .superRefine((value, context) => {
      if (value.length > max && lengthInCodePoints(value) > max) {
        context.addIssue({
          code: "too_big",
          maximum: max,
          origin: "string",
          message: `must be at most ${max} characters`,
        });
      }
      if (value.includes("\0")) context.addIssue({ code: "custom", message: "must not contain U+0000" });
      if (!value.isWellFormed())
        context.addIssue({ code: "custom", message: "must not contain a lone surrogate" });
    })
    .meta({ maxLength: max });
}

export function integerValue(min: number) {
  const tooSmall = `must be at least ${min}`;
  const tooBig = `must be at most ${MAX_INTEGER}`;
  // zod reports a number beyond 2^53 here, and then once more below.
  const byCode: Record<string, string> = { too_small: tooSmall, too_big: tooBig };
  return z
    .number({ error: "must be an integer" })
    .int({ error: ({ code }) => byCode[code ?? ""] ?? "must be a whole number", abort: true })
    .min(min, { error: tooSmall })
    .max(MAX_INTEGER, { error: tooBig });
}

export const numberValue = z.number({ error: "must be a number" });

export const booleanValue = z.boolean({ error: "must be true or false" });

/** A calendar date in the years 0001 to 9999. */
export const dateValue = z.iso
  .date({ error: "must be a calendar date, YYYY-MM-DD", abort: true })
  .refine((day) => !day.startsWith("0000"), { error: "must be in the years 0001 to 9999" });

/** The carrier's own status text, stored unchanged. */
export const providerStatusValue = textValue(255).nullable();

/** Selects a job: exact, case-sensitive, never trimmed. */
export const markingNumberValue = textValue(120).refine((value) => value !== "", {
  error: "must not be empty",
});

/** The Marking Number of each test job starts with it, and that of no live job. */
export const TEST_PREFIX = "TEST-";

/** The Marking Number of a new job. A terminal runs some control characters as commands. */
const newMarkingNumberValue = markingNumberValue.refine((value) => !/\p{Cc}/u.test(value), {
  error: "must not contain control characters, such as a tab or a line break",
});

export const liveMarkingNumberValue = newMarkingNumberValue.refine(
  (value) => !value.startsWith(TEST_PREFIX),
  {
    error: `must not start with ${TEST_PREFIX}, which only test jobs do`,
  },
);

export const testMarkingNumberValue = newMarkingNumberValue.refine((value) => value.startsWith(TEST_PREFIX), {
  error: `must start with ${TEST_PREFIX}`,
});
