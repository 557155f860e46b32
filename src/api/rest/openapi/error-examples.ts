/** OpenAPI examples of invalid requests, and of a batch that fails in part. */
import { type Problem, problemIn } from "../../../core/errors.ts";
import { exampleJob } from "../../../events/api.ts";
import type { ErrorExample } from "./errors.ts";

export const inQuery = problemIn("query");
export const inBody = problemIn("body");

/** Returns an example whose message names its first problem, as real messages do. */
export function invalidExample(summary: string, details: readonly Problem[]): ErrorExample {
  const [first] = details;
  return { summary, message: `${first?.field} ${first?.message}`, details };
}

export const malformedIdempotencyKey: readonly ErrorExample[] = [
  invalidExample("A malformed Idempotency-Key", [
    problemIn("header")("Idempotency-Key", "malformed", "must be 1 to 255 visible ASCII characters"),
  ]),
];

const malformedPage = invalidExample("A malformed parameter", [
  inQuery("page", "invalid_format", "must be a whole number from 1 to 2147483647"),
  inQuery("page_size", "invalid_value", "must be a whole number from 1 to 100"),
]);

const UNKNOWN_STATUS = 'is not a known status ("lost"); GET /v1/reference/statuses lists them';

export const malformedList: readonly ErrorExample[] = [
  malformedPage,
  invalidExample("An unknown status", [inQuery("normalized_status", "unknown_status", UNKNOWN_STATUS)]),
];

export const malformedMarkingNumber: readonly ErrorExample[] = [
  {
    summary: "No Marking Number",
    message: "The Marking Number must not be empty",
    details: [problemIn("path")("markingNumber", "invalid_value", "must not be empty")],
  },
];

export const malformedHistory: readonly ErrorExample[] = [malformedPage, ...malformedMarkingNumber];

export const malformedPatch: readonly ErrorExample[] = [
  { summary: "No editable field", message: "No editable fields were provided" },
  invalidExample("Values of the wrong type", [
    inBody("piece_quantity", "too_small", "must be at least 1"),
    inBody("weight", "invalid_type", "must be a number or null"),
  ]),
  invalidExample("An unknown status", [inBody("normalized_status", "unknown_status", UNKNOWN_STATUS)]),
  ...malformedMarkingNumber,
];

export const malformedBatch: readonly ErrorExample[] = [
  invalidExample("No items", [inBody("jobs", "too_small", "must hold at least one job")]),
  invalidExample("An item without a Marking Number", [
    inBody("jobs[3].marking_number", "invalid_type", "must be a string"),
  ]),
  { summary: "Not JSON", message: "The body is not valid JSON" },
];

export const partialFailure = {
  updated_count: 1,
  failed_count: 2,
  results: [
    { marking_number: "MN-2026-000123", success: true, job: exampleJob },
    {
      marking_number: "MN-2026-000124",
      success: false,
      error: "Delivery job not found",
      error_code: "NotFoundException",
      error_details: null,
    },
    {
      marking_number: "MN-2026-000125",
      success: false,
      error: "weight must be a number or null",
      error_code: "BadRequestException",
      error_details: [inBody("jobs[2].weight", "invalid_type", "must be a number or null")],
    },
  ],
};
