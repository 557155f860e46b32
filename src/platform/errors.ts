/**
 * The kinds of failure that a caller can be told about. Features throw them; `http/error-handler` (and later
 * `graphql/error-format`) alone translate them. `message` is safe for the caller, `cause` is for the log.
 */

/** One thing that is wrong with a request, and where. `field` is a path such as `jobs[3].weight`. */
export interface Problem {
  location: "body" | "query" | "path" | "header";
  field: string;
  code: string;
  message: string;
}

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

export interface AppErrorOptions {
  details?: unknown;
  /** Response headers that belong to the failure, such as `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  cause?: unknown;
}

export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = statusByCode[code];
    this.details = options.details ?? null;
    this.headers = options.headers ?? {};
  }
}

/** A 400 that lists every problem found; its message is the first of them as a sentence, or `message` where given. */
export function badRequest(problems: readonly Problem[], message?: string): AppError {
  const [first] = problems;
  const sentence = first ? `${first.field} ${first.message}`.trimStart() : "Bad request";
  return new AppError("BadRequestException", message ?? sentence, { details: first ? problems : null });
}

/** The dependency that an answer needs is away; the caller may try again after `retryAfterS` seconds. */
export function unavailable(message: string, retryAfterS: number, cause?: unknown): AppError {
  return new AppError("ServiceUnavailableException", message, {
    headers: { "Retry-After": String(retryAfterS) },
    cause,
  });
}

export function isUnavailable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "ServiceUnavailableException";
}

/**
 * The program cannot start, or a command cannot run, and the person in front of it can mend that: `message` says what is
 * wrong, `hint` what to do. Printed without a stack.
 */
export class StartupError extends Error {
  override readonly name = "StartupError";
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}

/** States what cannot be otherwise; its failure is our defect, never the caller's. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${message}`);
}
