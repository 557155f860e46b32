/** Readable names of the API's error codes, and hints how to fix the error. */

const HINTS: Readonly<Record<string, string>> = {
  BadRequestException:
    "The request is invalid. The response's details name each invalid field and what would be valid.",
  UnauthorizedException:
    "The key is missing, unknown, expired or revoked. Check the x-api-key header and your API keys.",
  ForbiddenException:
    "The key is valid but not allowed: it lacks the scope, was used from an IP address outside its ranges, is an operator's key, or its organisation is suspended.",
  NotFoundException:
    "The job doesn’t exist, you can’t see it, or the path is unknown. Marking Numbers are case-sensitive.",
  MethodNotAllowedException:
    "The path doesn’t support this method. The Allow header lists the supported methods.",
  ConflictException: "A request with the same Idempotency-Key is still in progress. Retry in a moment.",
  GoneException:
    "The cursor is older than 30 days. Get a new one with after=latest, list the jobs, then continue with the feed.",
  PreconditionFailedException:
    "The job has changed since you read it. Read it again and retry with the new ETag.",
  PayloadTooLargeException:
    "Send a smaller body: at most 64 KiB for one job, or 100 jobs and 4 MiB for a batch.",
  UnsupportedMediaTypeException: "Send the body as JSON, with Content-Type: application/json.",
  UnprocessableEntityException:
    "The Idempotency-Key was already used with another URL, If-Match or body. Use a new key for each new request.",
  TooManyRequestsException: "Too many requests. Wait for the time in Retry-After, and spread requests out.",
  InternalServerErrorException:
    "An error on our side. Retry. If it persists, send the request ID to the operator of this service.",
  ServiceUnavailableException: "The service was unavailable. Retry after the time in Retry-After.",
};

/** `BadRequestException` becomes "Bad request". */
export function errorLabel(code: string): string {
  const name = code.replace(/Exception$/, "");
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Null for an unknown code. */
export function errorHint(code: string): string | null {
  return Object.hasOwn(HINTS, code) ? (HINTS[code] ?? null) : null;
}
