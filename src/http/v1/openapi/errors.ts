/** OpenAPI error responses, one per error code, with examples. */
import { AppError, type ErrorCode, type Problem } from "../../../platform/errors.ts";
import { exampleRequestId } from "./examples.ts";
import { errorEnvelopeSchema } from "../errors.schema.ts";
import { headersOf, rateLimitHeaders, inlineHeaders, type HeaderName } from "./headers.ts";
import { requestIdSchema } from "../responses.schema.ts";

interface ErrorResponse {
  /** When the error occurs. */
  description: string;
  /** The message and details of the example. */
  message: string;
  details?: { current_etag: string } | { oldest_cursor: string };
  headers?: readonly HeaderName[];
}

const errorResponses: Record<ErrorCode, ErrorResponse> = {
  BadRequestException: {
    description: "The request is malformed; `details` lists all problems.",
    message: "The body is not valid JSON",
    headers: rateLimitHeaders,
  },
  UnauthorizedException: {
    description:
      "The API key is missing, unknown, expired or revoked, or the two headers contain different keys.",
    message: "An API key is required, as x-api-key or as Authorization: Bearer",
    headers: ["WWW-Authenticate"],
  },
  ForbiddenException: {
    description:
      "The key lacks the scope, the client IP address is not allowed for the key, or the organization is suspended.",
    message: "The API key lacks the scope jobs:write",
  },
  NotFoundException: {
    description: "No visible delivery job has this Marking Number.",
    message: "Delivery job not found",
    headers: rateLimitHeaders,
  },
  MethodNotAllowedException: {
    description: "The path does not support this method.",
    message: "DELETE is not allowed here. Allowed: GET, HEAD, PATCH",
    headers: ["Allow"],
  },
  ConflictException: {
    description: "The first request with this Idempotency-Key is still in progress.",
    message: "A request with this Idempotency-Key is still in progress",
    headers: rateLimitHeaders,
  },
  GoneException: {
    description:
      "The events after the cursor are older than 30 days; `details` contains the oldest valid cursor.",
    message:
      "Events after this cursor are older than 30 days and have left the feed. Take a new cursor with after=latest, " +
      "list the jobs, then follow the feed; or continue from details.oldest_cursor without the events before it.",
    details: { oldest_cursor: "WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ" },
    headers: rateLimitHeaders,
  },
  PreconditionFailedException: {
    description: "`If-Match` does not match the job's version; `details` contains the current ETag.",
    message: "The job is at version 5, which If-Match does not allow",
    details: { current_etag: '"5"' },
    headers: rateLimitHeaders,
  },
  PayloadTooLargeException: {
    description: "The body is larger than 64 KiB for one job or 4 MiB for a batch.",
    message: "The body is too large",
    headers: rateLimitHeaders,
  },
  UnsupportedMediaTypeException: {
    description: "The body is not `application/json` in UTF-8.",
    message: "The body must be application/json, in UTF-8",
    headers: rateLimitHeaders,
  },
  UnprocessableEntityException: {
    description: "This Idempotency-Key was already used for a different request.",
    message: "This Idempotency-Key was already used for a different request",
    headers: rateLimitHeaders,
  },
  TooManyRequestsException: {
    description: "The key's rate limit is reached.",
    message:
      "Too many read requests: the limit for each key is 50 a second with a burst of 100. Try again in 1 s.",
    headers: ["Retry-After"],
  },
  InternalServerErrorException: {
    description: "An unexpected error on our side. The response does not reveal its cause.",
    message: "An unexpected error happened on our side",
    headers: rateLimitHeaders,
  },
  ServiceUnavailableException: {
    description: "The database is unreachable or the server is overloaded.",
    message: "The database is unreachable. Try again shortly.",
    headers: ["Retry-After", ...rateLimitHeaders],
  },
};

export const errorEnvelope = errorEnvelopeSchema(requestIdSchema);

export function statusOf(code: ErrorCode): number {
  return new AppError(code, "").status;
}

/** Name under `components.responses`: the code without `Exception`. */
export function responseName(code: ErrorCode): string {
  return code.replace(/Exception$/, "");
}

export interface ErrorExample {
  summary: string;
  message: string;
  details?: readonly Problem[] | { current_etag: string } | { oldest_cursor: string } | null;
}

/** Returns the response for `code`. `more` overrides the table for one operation. */
export function errorResponse(
  code: ErrorCode,
  more: { description?: string; examples?: readonly ErrorExample[]; headers?: readonly HeaderName[] } = {},
) {
  const { description, message, details = null, headers = [] } = errorResponses[code];
  const examples = more.examples ?? [{ summary: description, message, details }];
  const limits = code === "TooManyRequestsException" ? inlineHeaders(rateLimitHeaders) : {};
  return {
    description: more.description ?? description,
    headers: { ...headersOf([...headers, ...(more.headers ?? [])]), ...limits },
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/ErrorEnvelope" },
        examples: errorExamples(code, examples),
      },
    },
  };
}

/** Returns an example body for `code`, by default with the message of the table above. */
export function errorExample(
  code: ErrorCode,
  { message, details = null }: Omit<ErrorExample, "summary"> = errorResponses[code],
): object {
  return { request_id: exampleRequestId, success: false, data: null, error: { code, message, details } };
}

function errorExamples(
  code: ErrorCode,
  examples: readonly ErrorExample[],
): Record<string, { summary: string; value: object }> {
  return Object.fromEntries(
    examples.map(({ summary, ...example }, index) => [
      `${responseName(code)}${examples.length > 1 ? index + 1 : ""}`,
      { summary, value: errorExample(code, example) },
    ]),
  );
}
