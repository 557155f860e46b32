/** Requests and responses of the test mode routes as zod: for the routes, for OpenAPI and for the contract tests. */
import { z } from "zod";
import { knownStatuses, markingNumberValue } from "../../jobs/api.ts";
import { JOBS_PER_REQUEST, MAX_STEPS, pathNames, STEP_INTERVAL } from "../../test-mode/api.ts";
import { listedJobSchema } from "./responses.schema.ts";
import { deliveryView } from "../../webhooks/api.ts";
import { wireSchema } from "./wire.ts";
import { count, dateTime, extensibleEnum, idSchema, mustBe } from "../../operations/schemas.ts";

const wholeNumber = ({ min, max }: { min: number; max: number }) => {
  const message = mustBe(`a whole number from ${min} to ${max}`);
  return z.int(message).min(min, message).max(max, message);
};

export const newTestJobsBody = z
  .object({
    count: wholeNumber(JOBS_PER_REQUEST)
      .optional()
      .meta({ description: `Number of jobs; default: ${JOBS_PER_REQUEST.default}`, examples: [3] }),
    template: z
      .looseObject({}, mustBe("an object of editable fields"))
      .optional()
      .meta({
        type: "object",
        description: "Editable fields of each job, as in a PATCH",
        examples: [{ recipient_name: "Harbour Street Bakery", weight: 8.25 }],
      }),
    assigned: z
      .boolean(mustBe("true or false"))
      .optional()
      .meta({
        description: "Whether the jobs are assigned to your test contractor; default: true",
        examples: [true],
      }),
  })
  .meta({ id: "JobsInput", description: "Test jobs to create." });

export const testJobListSchema = z
  .object({
    items: z.array(listedJobSchema).meta({ description: "The new jobs" }),
  })
  .meta({ id: "CreatedJobs" });

const stepsError = mustBe(`a list of 1 to ${MAX_STEPS} status codes`);
const status = z
  .string(mustBe("a status code"))
  .meta({ ...knownStatuses, description: "A status code", examples: ["failed"] });

export const testRunBody = z
  .object({
    path: extensibleEnum(pathNames, "A named path; either `path` or `steps` is required").optional(),
    steps: z
      .array(status, mustBe("a list of status codes"))
      .min(1, stepsError)
      .max(MAX_STEPS, stepsError)
      .optional()
      .meta({
        description: "The statuses that the job gets, in order",
        examples: [["picked_up", "cancelled"]],
      }),
    interval_ms: wholeNumber(STEP_INTERVAL)
      .optional()
      .meta({
        description: `Milliseconds between two steps; default: ${STEP_INTERVAL.default}. Steps are applied once a second`,
        examples: [2_000],
      }),
  })
  .meta({ id: "JobRunInput", description: "A run of a test job." });

export const testRunSchema = z
  .object({
    marking_number: markingNumberValue.meta({ description: "The job", examples: ["TEST-4K7Q2M9XR3VD"] }),
    steps: z.array(status).meta({ description: "The statuses that are left, in order" }),
    interval_ms: count("Milliseconds between two steps", 2_000),
    next_step_at: dateTime("Time of the next step", "2026-11-21T09:15:42.318Z"),
    ends_at: dateTime("Time of the last step", "2026-11-21T09:15:56.318Z"),
  })
  .meta({ id: "JobRun", description: "A run that changes a test job step by step." });

export const sampleEventBody = z
  .object({
    marking_number: markingNumberValue.optional().meta({
      description:
        "The job that the event is about; default: the newest test job, or an example if there is none",
      examples: ["TEST-4K7Q2M9XR3VD"],
    }),
    endpoint_id: idSchema(
      "whe",
      "The only endpoint that receives the event; default: all that receive its type",
      "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE",
    ).optional(),
  })
  .meta({ id: "SampleEventInput", description: "An event to send to test endpoints." });

export const sentEventSchema = z
  .object({
    items: z
      .array(wireSchema(deliveryView))
      .meta({ description: "The new deliveries, one for each endpoint" }),
  })
  .meta({ id: "SentEvent" });

export const deletedTestDataSchema = z
  .object({
    jobs: count("Number of deleted jobs", 12),
    events: count("Number of deleted events", 84),
    deliveries: count("Number of deleted webhook deliveries", 84),
    requests: count("Number of deleted entries of the request log", 31),
  })
  .meta({ id: "DeletedTestData" });
