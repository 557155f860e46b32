/** OpenAPI operations of test mode. */
import { z } from "zod";
import { markingNumberValue } from "../../../jobs/api.ts";
import { MAX_TEST_JOBS } from "../../../test-mode/api.ts";
import {
  deletedTestDataSchema,
  newTestJobsBody,
  sampleEventBody,
  sentEventSchema,
  testJobListSchema,
  testRunBody,
  testRunSchema,
} from "../test-mode.schema.ts";
import { inBody, inPath, invalidExample, malformedMarkingNumber } from "./error-examples.ts";
import { eventTypes, exampleListedJob } from "../../../events/api.ts";
import { idempotencyKeyHeader } from "./headers.ts";
import { changeErrors, jsonBody, operation } from "./operation.ts";
import { deliveryView } from "../../../webhooks/api.ts";
import { exampleDelivery } from "../../../webhooks/operations.ts";
import { writerOf } from "../wire.ts";
import { extensibleEnum } from "../../../operations/schemas.ts";

const tag = "Test";
const scopes = ["jobs:write", "jobs:read"] as const;
const testNumber = "TEST-4K7Q2M9XR3VD";

const notATestKey = {
  description: "The key is not a test key.",
  examples: [{ summary: "A live key", message: "There is no such route" }],
};

const createTestJobs = operation({
  method: "post",
  path: "/test/jobs",
  operationId: "createTestJobs",
  summary: "Create test jobs",
  description:
    "Creates jobs with their events and webhooks. Their Marking Numbers are random and start with `TEST-`. At most " +
    `${MAX_TEST_JOBS.toLocaleString("en")} can exist. For test keys only.`,
  tag,
  scopes,
  request: {
    headers: z.object({ "Idempotency-Key": idempotencyKeyHeader }),
    body: {
      ...jsonBody("The jobs to create.", newTestJobsBody, {
        three: { summary: "Three jobs", value: { count: 3, template: { weight: 8.25 } } },
      }),
      required: false,
    },
  },
  success: {
    status: 201,
    description: "The new jobs.",
    name: "CreatedJobsEnvelope",
    data: testJobListSchema,
    examples: { "One job": { items: [{ ...exampleListedJob, marking_number: testNumber, version: 2 }] } },
    headers: ["Idempotency-Replayed"],
  },
  malformed: [
    invalidExample("Too many jobs", [inBody("count", "too_big", "must be a whole number from 1 to 100")]),
  ],
  errors: [...changeErrors],
  ownErrors: {
    NotFoundException: notATestKey,
    ConflictException: {
      description:
        "There are too many test jobs, or the first request with this Idempotency-Key is in progress.",
      examples: [
        {
          summary: "Too many test jobs",
          message: "There are 1000 test jobs; at most 1000 can exist. Delete them with POST /v1/test/reset",
          details: { limit: MAX_TEST_JOBS },
        },
      ],
    },
  },
});

const testJobPath = z.object({
  markingNumber: markingNumberValue.meta({
    description: "Marking Number of a test job",
    examples: [testNumber],
  }),
});

const startTestRun = operation({
  method: "post",
  path: "/test/jobs/by-marking/{markingNumber}/run",
  operationId: "startTestRun",
  summary: "Run a test job through its life",
  description:
    "Changes the status of a test job step by step. Each step is a real change with its event and webhooks. The first step is " +
    "applied within a second. For test keys only.",
  tag,
  scopes,
  request: {
    params: testJobPath,
    body: jsonBody("The path.", testRunBody, {
      named: { summary: "A named path", value: { path: "failed_then_delivered", interval_ms: 2_000 } },
      codes: { summary: "Statuses in order", value: { steps: ["picked_up", "cancelled"] } },
    }),
  },
  success: {
    status: 201,
    description: "The run.",
    name: "JobRunEnvelope",
    data: testRunSchema,
    examples: {
      "Two steps": {
        marking_number: testNumber,
        steps: ["picked_up", "cancelled"],
        interval_ms: 1_000,
        next_step_at: "2026-11-21T09:15:42.318Z",
        ends_at: "2026-11-21T09:15:43.318Z",
      },
    },
  },
  malformed: [
    invalidExample("An interval that is too short", [
      inBody("interval_ms", "too_small", "must be a whole number from 1000 to 600000"),
    ]),
    invalidExample("An unknown status", [
      inBody(
        "steps[1]",
        "unknown_status",
        'is not a known status ("lost"); GET /v1/reference/statuses lists them',
      ),
    ]),
  ],
  errors: ["PayloadTooLargeException", "UnsupportedMediaTypeException"],
  ownErrors: {
    NotFoundException: {
      description: "There is no such test job, or the key is not a test key.",
      examples: [{ summary: "No such job", message: "Delivery job not found" }, ...notATestKey.examples],
    },
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
});

const cancelTestRun = operation({
  method: "delete",
  path: "/test/jobs/by-marking/{markingNumber}/run",
  operationId: "cancelTestRun",
  summary: "Cancel the run of a test job",
  description:
    "Cancels the run and returns it with the steps that it did not apply. The job keeps its status. For test keys only.",
  tag,
  scopes,
  request: { params: testJobPath },
  success: {
    description: "The run that was cancelled.",
    name: "CancelledRunEnvelope",
    data: testRunSchema,
    examples: {
      "One step was left": {
        marking_number: testNumber,
        steps: ["cancelled"],
        interval_ms: 600_000,
        next_step_at: "2026-11-21T09:25:42.318Z",
        ends_at: "2026-11-21T09:25:42.318Z",
      },
    },
  },
  malformed: malformedMarkingNumber,
  ownErrors: {
    NotFoundException: {
      description: "There is no such test job, the job has no run in progress, or the key is not a test key.",
      examples: [
        { summary: "No such job", message: "Delivery job not found" },
        { summary: "No run", message: "The job has no run in progress" },
        ...notATestKey.examples,
      ],
    },
  },
});

const sendSampleEvent = operation({
  method: "post",
  path: "/test/events/{type}",
  operationId: "sendSampleEvent",
  summary: "Send an event to test endpoints",
  description:
    "Sends an event of the type to each of your active endpoints that receive it. The deliveries are signed, logged, retried and " +
    "replayable like any others, and the event is in the feed. The job does not change: `changes` are made up, and " +
    "`sequence` is the job's present version. For test keys only.",
  tag,
  scopes: ["webhooks:manage", "jobs:read"],
  request: {
    params: z.object({ type: extensibleEnum(eventTypes, "An event type") }),
    headers: z.object({ "Idempotency-Key": idempotencyKeyHeader }),
    body: {
      ...jsonBody("The job and the endpoint.", sampleEventBody, {
        all: { summary: "Any job, all endpoints", value: {} },
        one: {
          summary: "One job, one endpoint",
          value: { marking_number: testNumber, endpoint_id: exampleDelivery.endpointId },
        },
      }),
      required: false,
    },
  },
  success: {
    status: 201,
    description: "The new deliveries.",
    name: "SentEventEnvelope",
    data: sentEventSchema,
    examples: {
      "One endpoint": {
        items: [
          {
            ...(writerOf(deliveryView)(exampleDelivery) as object),
            marking_number: testNumber,
            status: "pending",
            attempt_count: 0,
            outcome: null,
            finished_at: null,
          },
        ],
      },
    },
    headers: ["Idempotency-Replayed"],
  },
  malformed: [
    invalidExample("An unknown type", [
      inPath("type", "invalid_value", `must be one of ${eventTypes.join(", ")}`),
    ]),
  ],
  errors: [...changeErrors],
  ownErrors: {
    NotFoundException: {
      description: "There is no such test job or endpoint, or the key is not a test key.",
      examples: [{ summary: "No such job", message: "Delivery job not found" }, ...notATestKey.examples],
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
});

const resetTestData = operation({
  method: "post",
  path: "/test/reset",
  operationId: "resetTestData",
  summary: "Delete all test data",
  description:
    "Deletes your test jobs with their events, webhook deliveries and logged requests. Keys and webhook endpoints stay. For test " +
    "keys only.",
  tag,
  scopes,
  success: {
    description: "What was deleted.",
    name: "DeletedTestDataEnvelope",
    data: deletedTestDataSchema,
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
});

export const testModeOperations = [
  createTestJobs,
  startTestRun,
  cancelTestRun,
  sendSampleEvent,
  resetTestData,
];
