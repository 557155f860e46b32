/** OpenAPI operations that look up jobs and count them. */
import { lookupBody } from "../jobs.lookup.ts";
import { jobLookupSchema, jobStatsSchema } from "../jobs.schema.ts";
import { statsParameters } from "../jobs.stats.ts";
import { inBody, inQuery, invalidExample } from "./error-examples.ts";
import { exampleListedJob } from "../../../events/api.ts";
import { jsonBody, operation } from "./operation.ts";

const tag = "Jobs";

export const lookUpJobs = operation({
  method: "post",
  path: "/jobs/lookup",
  operationId: "lookUpJobs",
  summary: "Look up 1 to 100 jobs by Marking Number",
  description: `Returns the jobs in the order of the request, with null for a job that doesn't exist or isn't visible to the key's
organization. The request reads only, so it takes no Idempotency-Key. The body may have up to 64 KiB.`,
  tag,
  scopes: ["jobs:read"],
  request: {
    body: jsonBody("The Marking Numbers.", lookupBody, {
      two: { summary: "Two jobs", value: { marking_numbers: ["MN-2026-000123", "MN-2026-999999"] } },
    }),
  },
  success: {
    description: "The jobs.",
    name: "JobLookupEnvelope",
    data: jobLookupSchema,
    examples: { "A job, and null for one that isn't visible": { items: [exampleListedJob, null] } },
  },
  malformed: [
    invalidExample("No Marking Numbers", [
      inBody("marking_numbers", "too_small", "must have 1 to 100 items, got 0"),
    ]),
    invalidExample("Two malformed Marking Numbers", [
      inBody("marking_numbers[1]", "invalid_type", "must be a string"),
      inBody("marking_numbers[4]", "too_big", "must be at most 120 characters"),
    ]),
  ],
  errors: ["PayloadTooLargeException", "UnsupportedMediaTypeException"],
});

export const getJobStats = operation({
  method: "get",
  path: "/jobs/stats",
  operationId: "getJobStats",
  summary: "Count jobs, in total and by group",
  description: `The number of jobs that match all given filters, in total and by the values of up to two keys. Takes the filters of
\`GET /v1/jobs\`.

At most four requests of an organization compute statistics at the same time; others wait.`,
  tag,
  scopes: ["jobs:read"],
  request: { query: statsParameters },
  success: {
    description: "The counts.",
    name: "JobStatsEnvelope",
    data: jobStatsSchema,
    examples: {
      "Jobs by status": {
        total: 25,
        groups: [
          { keys: [{ key: "normalized_status", value: "completed", label: "Completed" }], count: 18 },
          { keys: [{ key: "normalized_status", value: "failed", label: "Delivery failed" }], count: 7 },
        ],
        truncated: false,
      },
      "All jobs, with their weight": {
        total: 25,
        groups: [{ keys: [], count: 25, weight: 96.5 }],
        truncated: false,
      },
    },
  },
  malformed: [
    invalidExample("An unknown key", [
      inQuery(
        "group_by[0]",
        "invalid_value",
        'must be one of normalized_status, category, failure_reason, scheduled_date, created_day, updated_day, contractor_id, agent_id, batch_number, group_code, postal_code; got "status"',
      ),
    ]),
    invalidExample("Too many keys", [inQuery("group_by", "invalid_value", "must have at most 2 keys")]),
  ],
});
