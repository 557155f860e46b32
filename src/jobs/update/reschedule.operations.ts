/** The operation that moves jobs to another day: a batch whose items all make the same change. */
import { z } from "zod";
import { problemIn } from "../../core/errors.ts";
import { restOperation } from "../../operations/operation.ts";
import { mustBe } from "../../operations/schemas.ts";
import { DUE_RULE } from "../due.ts";
import { exampleJob } from "../example-job.ts";
import type { JobService } from "../service.ts";
import { dateValue, markingNumberValue } from "../values.ts";
import { MAX_BATCH_ITEMS } from "./bulk.ts";
import {
  batchOptions,
  batchResult,
  change,
  dryRun,
  ifVersion,
  onError,
  toBatchAnswer,
} from "./operations.ts";

const inBody = problemIn("body");
const DUE_DATE = "2026-11-27";
const sizeError = { error: `must be a list of 1 to ${MAX_BATCH_ITEMS} jobs` };

const rescheduledJob = z
  .object({
    markingNumber: markingNumberValue.meta({
      minLength: 1,
      description: "Marking Number of the job",
      examples: ["MN-2026-000123"],
    }),
    ifVersion: ifVersion.optional(),
  })
  .meta({ id: "RescheduledJob", description: "A job to move to another day." });

export const rescheduleJobs = restOperation({
  ...change,
  name: "rescheduleJobs",
  rest: {
    method: "post",
    path: "/jobs/reschedule",
    places: { dryRun: "query", onError: "query" },
    ifMatchProblem: "is for one job; give each job its version as if_version",
  },
  rate: "batch",
  input: z
    .object({
      jobs: z
        .array(rescheduledJob, sizeError)
        .min(1, sizeError)
        .max(MAX_BATCH_ITEMS, sizeError)
        .meta({ description: "The jobs; each Marking Number is matched exactly" }),
      dueDate: dateValue.meta({ description: "The day on which the jobs are due", examples: [DUE_DATE] }),
      confirmed: z
        .boolean(mustBe("true or false"))
        .optional()
        .meta({ description: "Whether this date is confirmed; default: false", examples: [false] }),
      dryRun,
      onError,
    })
    .meta({ id: "Reschedule" }),
  output: batchResult,
  text: {
    tag: "Jobs",
    summary: "Reschedule up to 100 delivery jobs",
    description: `${DUE_RULE} The jobs are then due on \`due_date\`, regardless of their present dates.

Without \`confirmed\`, \`scheduled_date\` becomes \`due_date\` and \`scheduled_delivery_date\` becomes null. With it, \`scheduled_delivery_date\`
becomes \`due_date\` and \`scheduled_delivery_pending\` false. Other fields keep their values. The rules and the result are those of
\`PATCH /v1/jobs/batch\`, which can make the same change. The body may have up to 64 KiB.`,
    body: {
      description: "The jobs and their new date.",
      examples: {
        planned: {
          summary: "A new date that is not confirmed yet",
          value: { jobs: [{ markingNumber: "MN-2026-000123" }], dueDate: DUE_DATE },
        },
        confirmed: {
          summary: "A confirmed date, if the job has this version",
          value: {
            jobs: [{ markingNumber: "MN-2026-000123", ifVersion: 4 }],
            dueDate: DUE_DATE,
            confirmed: true,
          },
        },
      },
    },
    result: {
      name: "RescheduledJobs",
      description: "The result of each job.",
      examples: {
        "The job is due on another day": {
          updatedCount: 1,
          failedCount: 0,
          results: [
            {
              markingNumber: "MN-2026-000123",
              success: true,
              job: { ...exampleJob, scheduled_date: DUE_DATE, scheduled_delivery_date: null, version: 5 },
            },
          ],
        },
      },
    },
    malformed: [
      {
        summary: "A malformed date",
        problems: [inBody("due_date", "invalid_format", "must be a calendar date, YYYY-MM-DD")],
      },
      { summary: "No jobs", problems: [inBody("jobs", "too_small", sizeError.error)] },
    ],
  },
  async run({ jobs }: { readonly jobs: JobService }, principal, input, { tx }) {
    const targets = input.jobs.map(({ markingNumber, ifVersion: version }) => ({
      markingNumber,
      expectedVersions: version === undefined ? undefined : [version],
    }));
    const { dueDate, confirmed = false } = input;
    const options = batchOptions(principal, input, tx);
    return toBatchAnswer(
      await jobs.reschedule(principal, targets, { dueDate, confirmed }, options),
      input.dryRun,
    );
  },
});
