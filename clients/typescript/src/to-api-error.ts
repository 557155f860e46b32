/** Turns an answer with an error status into the error of its code. */
import {
  ApiError,
  BadRequestError,
  ConflictError,
  ForbiddenError,
  GoneError,
  InternalServerError,
  MethodNotAllowedError,
  NotFoundError,
  PayloadTooLargeError,
  PreconditionFailedError,
  ServiceUnavailableError,
  TooManyRequestsError,
  UnauthorizedError,
  UnprocessableEntityError,
  UnsupportedMediaTypeError,
  type ErrorAnswer,
} from "./errors.ts";

const errorClasses: Readonly<Record<string, typeof ApiError>> = {
  BadRequestException: BadRequestError,
  UnauthorizedException: UnauthorizedError,
  ForbiddenException: ForbiddenError,
  NotFoundException: NotFoundError,
  MethodNotAllowedException: MethodNotAllowedError,
  ConflictException: ConflictError,
  GoneException: GoneError,
  PreconditionFailedException: PreconditionFailedError,
  PayloadTooLargeException: PayloadTooLargeError,
  UnsupportedMediaTypeException: UnsupportedMediaTypeError,
  UnprocessableEntityException: UnprocessableEntityError,
  TooManyRequestsException: TooManyRequestsError,
  InternalServerErrorException: InternalServerError,
  ServiceUnavailableException: ServiceUnavailableError,
};

/** Returns the error for an answer with a status that is no success. `body` is the parsed JSON, or undefined if it is none. */
export function toApiError({ status, headers }: Response, body: unknown): ApiError {
  const { request_id: requestId, error } = (isObject(body) ? body : {}) as {
    request_id?: unknown;
    error?: Record<string, unknown>;
  };
  const { code, message, details, doc_url: docUrl } = isObject(error) ? error : {};
  const answer: ErrorAnswer = {
    code: textOrNull(code) ?? "",
    message:
      textOrNull(message) ??
      `The server returned ${status} without an error of Waymark. Check baseUrl and proxies.`,
    status,
    details: details ?? null,
    requestId: textOrNull(requestId) ?? headers.get("x-request-id"),
    docUrl: textOrNull(docUrl),
    headers,
  };
  const known = Object.hasOwn(errorClasses, answer.code) ? errorClasses[answer.code] : undefined;
  return new (known ?? ApiError)(answer);
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
