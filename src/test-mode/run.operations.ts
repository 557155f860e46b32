/** The operations of the runs of test jobs. */
import { z } from "zod";
import { invariant, problemIn } from "../core/errors.ts";
import { knownStatuses, markingNumberValue, noMarkingNumber } from "../jobs/api.ts";
import {
  type Access,
  type OwnErrorText,
  restOperation,
  type RequestPrincipal,
} from "../operations/operation.ts";
import { count, dateTime, extensibleEnum, mustBe } from "../operations/schemas.ts";
import { pathNames } from "./paths.ts";
import {
  type JobRun,
  MAX_STEPS,
  STEP_INTERVAL,
  type TestModeService,
  type TestPrincipal,
} from "./service.ts";

interface Services {
  readonly testMode: TestModeService;
}

const tag = "Test";
const inBody = problemIn("body");
export const TEST_NUMBER = "TEST-4K7Q2M9XR3VD";

/** The operations are for test keys only, which `admit` checks. */
const changeTestJobs: Access = { scopes: ["jobs:write", "jobs:read"], mode: "test" };
export const testChange = { access: changeTestJobs, rate: "write", fresh: false } as const;

export function testPrincipal(principal: RequestPrincipal): TestPrincipal {
  invariant(principal.organizationId !== null, "the principal is of a test organisation");
  return principal;
}

export const liveKey = { summary: "A live key", message: "There is no such route" };
export const noSuchJob = { summary: "No such job", message: "Delivery job not found" };
export const noTestJob: OwnErrorText = {
  description: "There is no such test job, or the key is not a test key.",
  examples: [noSuchJob, liveKey],
};
export const wholeNumber = ({ min, max }: { min: number; max: number }) => {
  const message = mustBe(`a whole number from ${min} to ${max}`);
  return z.int(message).min(min, message).max(max, message);
};

export const testJobPath = z.object({
  markingNumber: markingNumberValue.meta({
    description: "Marking Number of a test job",
    examples: [TEST_NUMBER],
  }),
});

const stepsError = mustBe(`a list of 1 to ${MAX_STEPS} status codes`);
const status = z
  .string(mustBe("a status code"))
  .meta({ ...knownStatuses, description: "A status code", examples: ["failed"] });

const jobRun = z
  .object({
    markingNumber: markingNumberValue.meta({ description: "The job", examples: [TEST_NUMBER] }),
    steps: z.array(status).meta({ description: "The statuses that are left, in order" }),
    intervalMs: count("Milliseconds between two steps", 2_000),
    nextStepAt: dateTime("Time of the next step", "2026-11-21T09:15:42.318Z"),
    endsAt: dateTime("Time of the last step", "2026-11-21T09:15:56.318Z"),
  })
  .meta({ id: "JobRun", description: "A run that changes a test job step by step." });

const toRunView = ({ steps, nextStepAt, endsAt, ...run }: JobRun) => ({
  ...run,
  steps: [...steps],
  nextStepAt: nextStepAt.toISOString(),
  endsAt: endsAt.toISOString(),
});

export const startRun = restOperation({
  ...testChange,
  name: "startTestRun",
  rest: { method: "post", path: "/test/jobs/by-marking/{markingNumber}/run", status: 201 },
  graphql: { field: "runTestJob" },
  params: testJobPath,
  input: z
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
      intervalMs: wholeNumber(STEP_INTERVAL)
        .optional()
        .meta({
          description: `Milliseconds between two steps; default: ${STEP_INTERVAL.default}. Steps are applied once a second`,
          examples: [2_000],
        }),
    })
    .meta({ id: "JobRunInput", description: "A run of a test job." }),
  output: jobRun,
  text: {
    tag,
    summary: "Run a test job through its life",
    description:
      "Changes the status of a test job step by step. Each step is a real change with its event and webhooks, as by a PATCH: " +
      "a step to `failed` or `on_hold` also sets `failure_reason`, and no step clears it. The first step is applied within two " +
      "seconds. For test keys only.",
    body: {
      description: "The path.",
      examples: {
        named: { summary: "A named path", value: { path: "failed_then_delivered", intervalMs: 2_000 } },
        codes: { summary: "Statuses in order", value: { steps: ["picked_up", "cancelled"] } },
      },
    },
    result: {
      description: "The run.",
      examples: {
        "Two steps": {
          markingNumber: TEST_NUMBER,
          steps: ["picked_up", "cancelled"],
          intervalMs: 1_000,
          nextStepAt: "2026-11-21T09:15:42.318Z",
          endsAt: "2026-11-21T09:15:43.318Z",
        },
      },
    },
    malformed: [
      {
        summary: "An interval that is too short",
        problems: [inBody("interval_ms", "too_small", "must be a whole number from 1000 to 600000")],
      },
      {
        summary: "An unknown status",
        problems: [
          inBody(
            "steps[1]",
            "unknown_status",
            'is not a known status ("lost"); GET /v1/reference/statuses lists them',
          ),
        ],
      },
    ],
    ownErrors: {
      NotFoundException: noTestJob,
      ConflictException: {
        description: "The job has a run.",
        examples: [
          {
            summary: "A run is in progress",
            message: "The job has a run with 3 steps left. It ends at 2026-11-21T09:15:43.318Z",
            details: { ends_at: "2026-11-21T09:15:43.318Z" },
          },
        ],
      },
    },
  },
  async run({ testMode }: Services, principal, { markingNumber, path, steps, ...input }) {
    const request = { path, steps, intervalMs: input.intervalMs ?? STEP_INTERVAL.default };
    return toRunView(await testMode.startRun(testPrincipal(principal), markingNumber, request));
  },
});

export const cancelRun = restOperation({
  ...testChange,
  name: "cancelTestRun",
  rest: { method: "delete", path: "/test/jobs/by-marking/{markingNumber}/run" },
  params: testJobPath,
  output: jobRun,
  text: {
    tag,
    summary: "Cancel the run of a test job",
    description:
      "Cancels the run and returns it with the steps that it did not apply. The job keeps its status. For test keys only.",
    result: {
      name: "CancelledRun",
      description: "The run that was cancelled.",
      examples: {
        "One step was left": {
          markingNumber: TEST_NUMBER,
          steps: ["cancelled"],
          intervalMs: 600_000,
          nextStepAt: "2026-11-21T09:25:42.318Z",
          endsAt: "2026-11-21T09:25:42.318Z",
        },
      },
    },
    malformed: [noMarkingNumber],
    ownErrors: {
      NotFoundException: {
        description:
          "There is no such test job, the job has no run in progress, or the key is not a test key.",
        examples: [noSuchJob, { summary: "No run", message: "The job has no run in progress" }, liveKey],
      },
    },
  },
  run: async ({ testMode }: Services, principal, { markingNumber }) =>
    toRunView(await testMode.cancelRun(testPrincipal(principal), markingNumber)),
});
