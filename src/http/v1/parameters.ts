/** Query parameters as zod values: always text on the way in. */
import { z } from "zod";
import { dateValue } from "../../jobs/job.values.ts";

export const MAX_PAGE_SIZE = 100;
const MAX_INTEGER = 2_147_483_647;

/** A whole number written in digits, from `min` to `max`. */
export function integerParameter(min: number, max: number = MAX_INTEGER) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,10}$/, { error: message })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: message })
    .meta({ type: "integer", minimum: min, maximum: max });
}

export const pageParameter = integerParameter(1)
  .default(1)
  .meta({ default: 1, description: "Page number, from 1. A page past the end is empty.", examples: [2] });
export const pageSizeParameter = integerParameter(1, MAX_PAGE_SIZE)
  .default(10)
  .meta({ default: 10, description: "Items per page.", examples: [25] });
export const dateParameter = dateValue;
export const instantParameter = z.iso.datetime({
  offset: true,
  error: "must be an ISO 8601 timestamp with a zone, such as 2026-11-21T08:00:00Z",
});
export const switchParameter = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((text) => text === "true")
  .meta({ type: "boolean" });
