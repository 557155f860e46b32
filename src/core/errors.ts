/**
 * Errors that features throw and that the REST and GraphQL error handlers translate into responses.
 * `message` is shown to the caller; `cause` goes to the log only.
 */

/** One validation error of a request. `field` is a path such as `jobs[3].weight`. */
export interface Problem {
  location: "body" | "query" | "path" | "header";
  field: string;
  code: string;
  message: string;
}

/** Returns a function that makes a problem of a part of the request. */
export const problemIn =
  (location: Problem["location"]) =>
  (field: string, code: string, message: string): Problem => ({ location, field, code, message });

const statusByCode = {
  BadRequestException: 400,
  UnauthorizedException: 401,
  ForbiddenException: 403,
  NotFoundException: 404,
  MethodNotAllowedException: 405,
  ConflictException: 409,
  GoneException: 410,
  PreconditionFailedException: 412,
  PayloadTooLargeException: 413,
  UnsupportedMediaTypeException: 415,
  UnprocessableEntityException: 422,
  TooManyRequestsException: 429,
  InternalServerErrorException: 500,
  ServiceUnavailableException: 503,
} as const;

export type ErrorCode = keyof typeof statusByCode;
export const errorCodes = Object.keys(statusByCode) as ErrorCode[];

export function statusOf(code: ErrorCode): number {
  return statusByCode[code];
}

export interface AppErrorOptions {
  details?: unknown;
  /** The kind of object that a NotFoundException is about, as the command line names it. */
  resource?: string;
  /** Response headers to send with the error, such as `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  cause?: unknown;
}

export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: unknown;
  readonly resource: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = statusByCode[code];
    this.details = options.details ?? null;
    this.resource = options.resource ?? null;
    this.headers = options.headers ?? {};
  }
}

/** Problems in one response. */
export const MAX_PROBLEMS = 20;

/** Returns a 400 that lists the first 20 of `problems`. Its message is `message`, or by default the first problem as a sentence. */
export function badRequest(problems: readonly Problem[], message?: string): AppError {
  const [first] = problems;
  const sentence = first ? `${first.field} ${first.message}`.trimStart() : "Bad request";
  return new AppError("BadRequestException", message ?? sentence, {
    details: first ? problems.slice(0, MAX_PROBLEMS) : null,
  });
}

/** Returns a 400 for one parameter of a query. */
export function invalidArgument(field: string, message: string): AppError {
  return badRequest([problemIn("query")(field, "invalid_value", message)]);
}

/** Returns a 503 whose `Retry-After` is `retryAfterS` seconds. */
export function unavailable(message: string, retryAfterS: number, cause?: unknown): AppError {
  return new AppError("ServiceUnavailableException", message, {
    headers: { "Retry-After": String(retryAfterS) },
    cause,
  });
}

export function isUnavailable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "ServiceUnavailableException";
}

/** An error that the operator can fix: `message` says what is wrong, `hint` what to do. Printed without a stack trace. */
export class StartupError extends Error {
  override readonly name = "StartupError";
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}

/** Throws if `condition` is falsy. A failed invariant is a bug in Waymark, never an error of the caller. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${message}`);
}
