/** OpenAPI error responses, one per error code, with examples. */
import { z } from "zod";
import { errorCodes, type ErrorCode, type Problem } from "../../../core/errors.ts";
import { errorGuidePath } from "../../../guide/api.ts";
import { exampleRequestId } from "../../../events/api.ts";
import { headersOf, rateLimitHeaders, readHeaders, inlineHeaders, type HeaderName } from "./headers.ts";
import { extensibleEnum, requestIdSchema } from "../../../operations/schemas.ts";

interface ErrorResponse {
  /** When the error occurs. */
  description: string;
  /** The message and details of the example. */
  message: string;
  details?: { current_etag: string } | { oldest_cursor: string } | { request_id: string; at: string };
  /** Default: those of every response to a request with a valid key. */
  headers?: readonly HeaderName[];
  /** Those of `headers` that the response always has, though others may lack them. */
  required?: readonly HeaderName[];
}

/** An error that has other causes in one operation than in the table. */
export interface OwnError {
  description: string;
  examples: readonly ErrorExample[];
  /** Of which the response may lack some. Default: those of the table. */
  headers?: readonly HeaderName[];
}

const errorResponses: Record<ErrorCode, ErrorResponse> = {
  BadRequestException: {
    description: "The request is malformed; `details` lists all problems.",
    message: "The body is not valid JSON",
    headers: readHeaders,
  },
  UnauthorizedException: {
    description:
      "The API key is missing, unknown, expired or revoked, or the request contains different keys.",
    message: "An API key is required, as x-api-key or as Authorization: Bearer",
    headers: ["WWW-Authenticate"],
  },
  ForbiddenException: {
    description:
      "The key lacks the scope, the client IP address is not allowed for the key, or the organization is suspended.",
    message: "The API key lacks the scope jobs:write",
    headers: ["X-Ignored-Parameters"],
  },
  NotFoundException: {
    description: "No visible delivery job has this Marking Number, or no visible object has this ID.",
    message: "Delivery job not found",
    headers: readHeaders,
  },
  MethodNotAllowedException: {
    description: "The path does not support this method.",
    message: "DELETE is not allowed here. Allowed: GET, HEAD, PATCH",
    headers: ["Allow"],
  },
  ConflictException: {
    description:
      "The first request with this Idempotency-Key is still in progress, or the state of the object does not allow the change.",
    message: "A request with this Idempotency-Key is still in progress",
  },
  GoneException: {
    description:
      "The events after the cursor are older than 30 days; `details` contains the oldest valid cursor.",
    message:
      "Events after this cursor are older than 30 days and have left the feed. Take a new cursor with after=latest, " +
      "list the jobs, then follow the feed; or continue from details.oldest_cursor without the events before it.",
    details: { oldest_cursor: "WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ" },
    headers: readHeaders,
  },
  PreconditionFailedException: {
    description: "`If-Match` does not match the job's version; `details` contains the current ETag.",
    message: "The job is at version 5, which If-Match does not allow",
    details: { current_etag: '"5"' },
  },
  PayloadTooLargeException: {
    description: "The body is larger than 64 KiB, or 4 MiB for a batch of jobs.",
    message: "The body is too large",
  },
  UnsupportedMediaTypeException: {
    description: "The body is not `application/json` in UTF-8.",
    message: "The body must be application/json, in UTF-8",
  },
  UnprocessableEntityException: {
    description: "This Idempotency-Key was already used for a different request.",
    message: "This Idempotency-Key was already used for a different request, req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
    details: { request_id: "req_01KAJQZ4T0W5H8M3N9PXR2VD7C", at: "2026-11-21T09:15:42.318Z" },
  },
  TooManyRequestsException: {
    description: "The key's rate limit is reached, or too many requests of the organisation are in progress.",
    message:
      "Too many read requests: the limit for each key is 50 a second with a burst of 100. Try again in 1 s.",
    headers: ["Retry-After", ...readHeaders],
    required: rateLimitHeaders,
  },
  InternalServerErrorException: {
    description: "An unexpected error on our side. The response does not reveal its cause.",
    message: "An unexpected error happened on our side",
    headers: readHeaders,
  },
  ServiceUnavailableException: {
    description: "The database is unreachable or the server is overloaded.",
    message: "The database is unreachable. Try again shortly.",
    headers: ["Retry-After", ...readHeaders],
  },
};

const DETAILS_DESCRIPTION =
  "Details of the error, depending on the code. `BadRequestException`: a list of `Problem` objects, or null. " +
  "`PreconditionFailedException`: `{current_etag}`, the current ETag of the job. " +
  "`GoneException`: `{oldest_cursor}`, the oldest valid cursor of the feed. `ConflictException` at a maximum number of objects: " +
  "`{limit}`; during a run of a test job: `{ends_at}`. `UnprocessableEntityException`: `{request_id, at}` of the first request with the key. " +
  "Otherwise null.";

function exampleDocUrl(code: ErrorCode): string {
  return `https://api.example.com${errorGuidePath(code)}`;
}

const errorSchema = z
  .object({
    code: extensibleEnum(errorCodes, "Machine-readable error code"),
    message: z.string().meta({
      description: "Human-readable error message; its wording may change",
      examples: ["Delivery job not found"],
    }),
    details: z.unknown().meta({ description: DETAILS_DESCRIPTION }),
    doc_url: z.string().meta({
      format: "uri",
      description: "The section of the guide that explains the code and its fix",
      examples: [exampleDocUrl("NotFoundException")],
    }),
  })
  .meta({ id: "ErrorObject", description: "The error of a failed request." });

/** The envelope of every failed request. */
export const errorEnvelope = z
  .object({
    request_id: requestIdSchema,
    success: z.boolean().meta({ description: "Always false" }),
    data: z.null().meta({ type: ["object", "null"], description: "Always null" }),
    error: errorSchema,
  })
  .meta({ id: "ErrorEnvelope", description: "The response to a failed request." });

/** Name under `components.responses`: the code without `Exception`. */
export function responseName(code: ErrorCode): string {
  return code.replace(/Exception$/, "");
}

export interface ErrorExample {
  summary: string;
  message: string;
  details?: readonly Problem[] | ErrorResponse["details"] | { limit: number } | { ends_at: string } | null;
}

/** Returns the response for `code`, by default with the description and one example from the table. */
export function errorResponse(code: ErrorCode, own: Partial<OwnError> = {}) {
  const { description: cause, headers = rateLimitHeaders, required = [], ...example } = errorResponses[code];
  const { description = cause, examples = [{ summary: description, ...example }] } = own;
  const ofTable = { ...headersOf(headers), ...inlineHeaders(required) };
  return {
    description,
    headers: own.headers ? headersOf(own.headers) : ofTable,
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/ErrorEnvelope" },
        examples: errorExamples(code, examples),
      },
    },
  };
}

function errorExamples(code: ErrorCode, examples: readonly ErrorExample[]) {
  return Object.fromEntries(
    examples.map(({ summary, message, details = null }, index) => {
      const name = `${responseName(code)}${examples.length > 1 ? index + 1 : ""}`;
      const error = { code, message, details, doc_url: exampleDocUrl(code) };
      return [name, { summary, value: { request_id: exampleRequestId, success: false, data: null, error } }];
    }),
  );
}
