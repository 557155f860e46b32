/** The errors that the client throws. Each `error.code` of the API has a class; an unknown code is an `ApiError`. */
import type { Problem } from "./generated/api.ts";

/** The base of all errors of this package. */
export class WaymarkError extends Error {
  override readonly name: string = "WaymarkError";
}

/** The request got no complete answer. A change may have been applied. `cause` is the error of `fetch`. */
export class ConnectionError extends WaymarkError {
  override readonly name: string = "ConnectionError";
}

/** The answer did not arrive within `timeoutMs`. A change may have been applied. */
export class TimeoutError extends ConnectionError {
  override readonly name: string = "TimeoutError";
}

/** The content of an error answer. */
export interface ErrorAnswer {
  /** `error.code`; empty if the answer is not from Waymark, such as a proxy's. */
  code: string;
  message: string;
  status: number;
  details: unknown;
  requestId: string | null;
  docUrl: string | null;
  headers: Headers;
}

/** The server rejected the request. */
export class ApiError extends WaymarkError {
  override readonly name: string = "ApiError";
  readonly code: string;
  readonly status: number;
  /** Depends on the code; null if there are none. */
  readonly details: unknown;
  /** `X-Request-Id`, for the operator; null if a proxy answered. */
  readonly requestId: string | null;
  /** The page that explains the code. */
  readonly docUrl: string | null;
  /** Seconds to wait before the next request; null if the server did not say. */
  readonly retryAfter: number | null;
  readonly headers: Headers;

  constructor(answer: ErrorAnswer) {
    super(answer.message);
    this.code = answer.code;
    this.status = answer.status;
    this.details = answer.details;
    this.requestId = answer.requestId;
    this.docUrl = answer.docUrl;
    this.headers = answer.headers;
    this.retryAfter = parseRetryAfter(answer.headers.get("retry-after"));
  }
}

/** 400: the request is malformed. */
export class BadRequestError extends ApiError {
  override readonly name: string = "BadRequestError";

  /** Everything that is wrong with the request. */
  get problems(): readonly Problem[] {
    return Array.isArray(this.details) ? (this.details as Problem[]) : [];
  }
}

/** 401: the API key is missing, unknown, expired or revoked. */
export class UnauthorizedError extends ApiError {
  override readonly name: string = "UnauthorizedError";
}

/** 403: the API key may not do this. */
export class ForbiddenError extends ApiError {
  override readonly name: string = "ForbiddenError";
}

/** 404: it does not exist, or belongs to another organisation. */
export class NotFoundError extends ApiError {
  override readonly name: string = "NotFoundError";
}

/** 405: the path does not support the method. */
export class MethodNotAllowedError extends ApiError {
  override readonly name: string = "MethodNotAllowedError";
}

/** 409: the request conflicts with the current state, or with a request that is still in flight. */
export class ConflictError extends ApiError {
  override readonly name: string = "ConflictError";
}

/** 410: events after the cursor have left the feed. */
export class GoneError extends ApiError {
  override readonly name: string = "GoneError";

  /** The oldest cursor that the feed accepts; null if the server did not say. */
  get oldestCursor(): string | null {
    return textDetail(this.details, "oldest_cursor");
  }
}

/** 412: the job has another version than `ifMatch`. */
export class PreconditionFailedError extends ApiError {
  override readonly name: string = "PreconditionFailedError";

  /** The current ETag of the job, with its quotes; null if the server did not say. */
  get currentEtag(): string | null {
    return textDetail(this.details, "current_etag");
  }
}

/** 413: the body is too large. */
export class PayloadTooLargeError extends ApiError {
  override readonly name: string = "PayloadTooLargeError";
}

/** 415: the body is not JSON. */
export class UnsupportedMediaTypeError extends ApiError {
  override readonly name: string = "UnsupportedMediaTypeError";
}

/** 422: the Idempotency-Key was used for a different request. */
export class UnprocessableEntityError extends ApiError {
  override readonly name: string = "UnprocessableEntityError";
}

/** 429: a rate limit is reached. */
export class TooManyRequestsError extends ApiError {
  override readonly name: string = "TooManyRequestsError";
}

/** 500: a defect in Waymark. */
export class InternalServerError extends ApiError {
  override readonly name: string = "InternalServerError";
}

/** 503: the server is overloaded, or its database can't be reached. */
export class ServiceUnavailableError extends ApiError {
  override readonly name: string = "ServiceUnavailableError";
}

/** Returns seconds. `Retry-After` is a number of seconds or a date. */
function parseRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : Math.max(0, (atMs - Date.now()) / 1_000);
}

function textDetail(details: unknown, name: string): string | null {
  if (typeof details !== "object" || details === null) return null;
  const value = (details as Record<string, unknown>)[name];
  return typeof value === "string" ? value : null;
}
