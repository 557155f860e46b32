/** The operations of test mode. */
import { z } from "zod";
import { badRequest, problemIn } from "../core/errors.ts";
import { eventTypes } from "../events/api.ts";
import {
  exampleJob,
  type JobRow,
  jobSchema,
  markingNumberValue,
  noMarkingNumber,
  testMarkingNumberValue,
  toJobWire,
} from "../jobs/api.ts";
import { Answer, type OwnErrorText, type RestOperation, restOperation } from "../operations/operation.ts";
import { count, extensibleEnum, idSchema, mustBe } from "../operations/schemas.ts";
import { deliveryView } from "../webhooks/api.ts";
import { exampleDelivery } from "../webhooks/operations.ts";
import {
  cancelRun,
  liveKey,
  noSuchJob,
  noTestJob,
  startRun,
  TEST_NUMBER,
  testChange,
  testJobPath,
  testPrincipal,
  wholeNumber,
} from "./run.operations.ts";
import { JOBS_PER_REQUEST, MAX_TEST_JOBS, type TestModeService } from "./service.ts";

interface Services {
  readonly testMode: TestModeService;
}

const tag = "Test";
const inBody = problemIn("body");

const notATestKey: OwnErrorText = { description: "The key is not a test key.", examples: [liveKey] };

const assignedMember = z.boolean(mustBe("true or false"));
const NUMBERS_RULE = mustBe(`a list of ${JOBS_PER_REQUEST.min} to ${JOBS_PER_REQUEST.max} Marking Numbers`);

const createJobs = restOperation({
  ...testChange,
  name: "createTestJobs",
  rest: { method: "post", path: "/test/jobs", status: 201 },
  once: {},
  input: z
    .object({
      count: wholeNumber(JOBS_PER_REQUEST)
        .optional()
        .meta({ description: `Number of jobs; default: ${JOBS_PER_REQUEST.default}`, examples: [3] }),
      markingNumbers: z
        .array(testMarkingNumberValue, NUMBERS_RULE)
        .min(JOBS_PER_REQUEST.min, NUMBERS_RULE)
        .max(JOBS_PER_REQUEST.max, NUMBERS_RULE)
        .refine((numbers) => new Set(numbers).size === numbers.length, mustBe("a list without repeated ones"))
        .optional()
        .meta({
          description: "The Marking Number of each job, instead of `count`; default: random ones",
          examples: [["TEST-ACME-0001", "TEST-ACME-0002"]],
        }),
      template: z
        .looseObject({}, mustBe("an object of editable fields"))
        .optional()
        .meta({
          type: "object",
          description: "Editable fields of each job, as in a PATCH",
          examples: [{ recipient_name: "Harbour Street Bakery", weight: 8.25 }],
        }),
      assigned: assignedMember.optional().meta({
        description: "Whether the jobs are assigned to your test contractor; default: true",
        examples: [true],
      }),
    })
    .meta({ id: "JobsInput", description: "Test jobs to create." }),
  output: z
    .object({ items: z.array(jobSchema).meta({ description: "The new jobs" }) })
    .meta({ id: "CreatedJobs" }),
  text: {
    tag,
    summary: "Create test jobs",
    description:
      "Creates jobs with their events and webhooks. Their Marking Numbers are random, or those that you give, and start with " +
      "`TEST-`. If one of yours exists, no job is created. At most " +
      `${MAX_TEST_JOBS.toLocaleString("en")} can exist. For test keys only.`,
    body: {
      description: "The jobs to create.",
      isOptional: true,
      examples: { three: { summary: "Three jobs", value: { count: 3, template: { weight: 8.25 } } } },
    },
    result: {
      description: "The new jobs.",
      examples: { "One job": { items: [{ ...exampleJob, marking_number: TEST_NUMBER, version: 2 }] } },
    },
    malformed: [
      {
        summary: "Too many jobs",
        problems: [inBody("count", "too_big", "must be a whole number from 1 to 100")],
      },
    ],
    ownErrors: {
      NotFoundException: notATestKey,
      ConflictException: {
        description:
          "There are too many test jobs, a Marking Number exists, or the first request with this Idempotency-Key is in progress.",
        examples: [
          {
            summary: "A Marking Number exists",
            message: "Jobs with these Marking Numbers exist, so none was created: TEST-ACME-0001",
          },
          {
            summary: "Too many test jobs",
            message: "There are 1000 test jobs; at most 1000 can exist. Delete them with POST /v1/test/reset",
            details: { limit: MAX_TEST_JOBS },
          },
        ],
      },
    },
  },
  async run({ testMode }: Services, principal, { template = {}, assigned = true, ...input }, { tx }) {
    if (input.count !== undefined && input.markingNumbers)
      throw badRequest([inBody("count", "conflict", "must be left out if the Marking Numbers are given")]);
    const numbers = input.markingNumbers ?? input.count ?? JOBS_PER_REQUEST.default;
    const request = { numbers, template, assigned };
    const rows: readonly JobRow[] = await testMode.createJobs(testPrincipal(principal), request, tx);
    return { items: rows.map(toJobWire), rows };
  },
});

const reassignJob = restOperation({
  ...testChange,
  name: "reassignTestJob",
  rest: { method: "post", path: "/test/jobs/by-marking/{markingNumber}/reassign" },
  once: {},
  params: testJobPath,
  input: z
    .object({
      assigned: assignedMember.meta({
        description: "True assigns the job to your test contractor, false takes it away",
        examples: [false],
      }),
    })
    .meta({ id: "JobAssignmentInput", description: "The assignment of a test job." }),
  output: z.object({ job: jobSchema }).meta({ id: "ReassignedTestJob" }),
  text: {
    tag,
    summary: "Reassign a test job",
    description:
      "Takes a test job away from your test contractor, or assigns it again, with the event and webhooks of a live assignment. " +
      "Without the assignment, a key of the contractor cannot see the job, but can assign it again here. A job that is " +
      "assigned as requested does not change. For test keys only.",
    body: {
      description: "Whether the test contractor is assigned.",
      examples: {
        away: { summary: "Take the job away", value: { assigned: false } },
        back: { summary: "Assign it again", value: { assigned: true } },
      },
    },
    result: {
      description: "The job.",
      examples: {
        "Taken away": { job: { ...exampleJob, marking_number: TEST_NUMBER, contractor: null, version: 3 } },
      },
    },
    malformed: [noMarkingNumber],
    ownErrors: {
      NotFoundException: noTestJob,
    },
  },
  async run({ testMode }: Services, principal, assignment, { tx }) {
    const { job: row, outcome } = await testMode.reassignJob(testPrincipal(principal), assignment, tx);
    return new Answer({ job: toJobWire(row), row }, { changed: outcome === "updated" });
  },
});

const sendSampleEvent = restOperation({
  name: "sendSampleEvent",
  rest: { method: "post", path: "/test/events/{type}", status: 201 },
  // An endpoint receives whole jobs.
  access: { scopes: ["webhooks:manage", "jobs:read"], mode: "test" },
  rate: "write",
  fresh: false,
  once: {},
  params: z.object({ type: extensibleEnum(eventTypes, "An event type") }),
  input: z
    .object({
      markingNumber: markingNumberValue.optional().meta({
        description:
          "The job that the event is about; default: the newest test job, or an example if there is none",
        examples: [TEST_NUMBER],
      }),
      endpointId: idSchema(
        "whe",
        "The only endpoint that receives the event; default: all that receive its type",
        exampleDelivery.endpointId,
      ).optional(),
    })
    .meta({ id: "SampleEventInput", description: "An event to send to test endpoints." }),
  output: z
    .object({
      items: z.array(deliveryView).meta({ description: "The new deliveries, one for each endpoint" }),
    })
    .meta({ id: "SentEvent" }),
  text: {
    tag,
    summary: "Send an event to test endpoints",
    description:
      "Sends an event of the type to each of your active endpoints that receive it. The deliveries are signed, logged, retried and " +
      "replayable like any others, and the event is in the feed. The job does not change: `changes` are made up, and " +
      "`sequence` is the job's present version. For test keys only.",
    body: {
      description: "The job and the endpoint.",
      isOptional: true,
      examples: {
        all: { summary: "Any job, all endpoints", value: {} },
        one: {
          summary: "One job, one endpoint",
          value: { markingNumber: TEST_NUMBER, endpointId: exampleDelivery.endpointId },
        },
      },
    },
    result: {
      description: "The new deliveries.",
      examples: {
        "One endpoint": {
          items: [
            {
              ...exampleDelivery,
              markingNumber: TEST_NUMBER,
              status: "pending",
              attemptCount: 0,
              outcome: null,
              finishedAt: null,
            },
          ],
        },
      },
    },
    malformed: [
      {
        summary: "An unknown type",
        problems: [problemIn("path")("type", "invalid_value", `must be one of ${eventTypes.join(", ")}`)],
      },
    ],
    ownErrors: {
      NotFoundException: {
        description: "There is no such test job or endpoint, or the key is not a test key.",
        examples: [noSuchJob, liveKey],
      },
      ConflictException: {
        description:
          "No active endpoint receives the type, or the first request with this Idempotency-Key is in progress.",
        examples: [
          {
            summary: "No endpoint",
            message: "No active endpoint receives job.updated. Create one with POST /v1/webhook-endpoints",
          },
        ],
      },
    },
  },
  run: async ({ testMode }: Services, principal, event, { tx }) => ({
    items: await testMode.sendEvent(testPrincipal(principal), event, tx),
  }),
});

const resetData = restOperation({
  ...testChange,
  name: "resetTestData",
  rest: { method: "post", path: "/test/reset" },
  output: z
    .object({
      jobs: count("Number of deleted jobs", 12),
      events: count("Number of deleted events", 84),
      deliveries: count("Number of deleted webhook deliveries", 84),
      requests: count("Number of deleted entries of the request log", 31),
    })
    .meta({ id: "DeletedTestData" }),
  text: {
    tag,
    summary: "Delete all test data",
    description:
      "Deletes your test jobs with their events, webhook deliveries and logged requests. Keys and webhook endpoints stay. What " +
      "remains of each job is its event `job.deleted`. For test keys only.",
    result: {
      description: "What was deleted.",
      examples: { "Twelve jobs": { jobs: 12, events: 84, deliveries: 84, requests: 31 } },
    },
    ownErrors: {
      NotFoundException: notATestKey,
      ConflictException: {
        description: "A run is in progress.",
        examples: [
          {
            summary: "A run is in progress",
            message:
              "A run is in progress. Try again at 2026-11-21T09:15:43.318Z, or cancel it with " +
              "DELETE /v1/test/jobs/by-marking/{markingNumber}/run",
            details: { ends_at: "2026-11-21T09:15:43.318Z" },
          },
        ],
      },
    },
  },
  run: ({ testMode }: Services, principal) => testMode.reset(testPrincipal(principal)),
});

export const testModeOperations: readonly RestOperation<Services>[] = [
  createJobs,
  reassignJob,
  startRun,
  cancelRun,
  sendSampleEvent,
  resetData,
];
