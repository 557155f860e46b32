/** POST /v1/jobs/lookup: reads up to 100 jobs by Marking Number. */
import { z } from "zod";
import { type JobService, markingNumberValue, toListedJobWire } from "../../jobs/api.ts";
import { principalOf } from "../context.ts";
import { objectBody, type RouteHandler } from "../json.ts";
import { parseBody } from "./body.ts";
import { mustBe } from "../../operations/schemas.ts";

const MAX_NUMBERS = 100;
const sizeError = {
  error: ({ input }: { input?: unknown }) =>
    `must have 1 to ${MAX_NUMBERS} items, got ${(input as unknown[]).length}`,
};

export const lookupBody = z
  .object({
    marking_numbers: z
      .array(
        markingNumberValue.meta({ minLength: 1, examples: ["MN-2026-000123"] }),
        mustBe(`a list of 1 to ${MAX_NUMBERS} Marking Numbers`),
      )
      .min(1, sizeError)
      .max(MAX_NUMBERS, sizeError)
      .meta({
        description: "Marking Numbers; each is matched exactly, and may occur more than once",
        examples: [["MN-2026-000123", "MN-2026-000124"]],
      }),
  })
  .meta({ id: "JobLookup" });

export function lookUpJobs({ jobs }: { jobs: JobService }): RouteHandler {
  return async (request, response) => {
    const { marking_numbers: numbers } = parseBody(lookupBody, objectBody(request));
    const found = await jobs.findByMarkingNumbers(principalOf(response), numbers, { organizations: false });
    return { data: { items: found.map((job) => job && toListedJobWire(job)) } };
  };
}
