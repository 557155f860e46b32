/** What to do about an error code of the API. */

const HINTS: Readonly<Record<string, string>> = {
  BadRequestException:
    "Something in the request is wrong. The answer's details name each field and what would be right.",
  UnauthorizedException:
    "The key is missing, unknown, expired or revoked. Check the header x-api-key, and the list of API keys.",
  ForbiddenException:
    "The key is good, but lacks the scope, was used from an IP address outside of its ranges, is an operator's key, or its organisation is suspended.",
  NotFoundException:
    "No such job is visible to you, or the path is unknown. Marking Numbers are case-sensitive.",
  MethodNotAllowedException: "The path is right, the method is not. The header Allow names those that are.",
  ConflictException:
    "A request with the same Idempotency-Key is still being worked on. Ask again in a moment.",
  GoneException:
    "The cursor is older than 30 days. Take a new one with after=latest, list the jobs, then follow the feed.",
  PreconditionFailedException:
    "The job has changed since you read it. Read it again, then send the change with the new ETag.",
  PayloadTooLargeException: "Send less at once: 64 KiB for one job, 100 jobs and 4 MiB for a batch.",
  UnsupportedMediaTypeException: "Send the body as JSON, with Content-Type: application/json.",
  UnprocessableEntityException:
    "The same Idempotency-Key came with another URL, If-Match or body. Give each new request a new key.",
  TooManyRequestsException:
    "Too many requests at once. Wait as long as Retry-After says, and spread them out.",
  InternalServerErrorException:
    "The fault is ours. Send it again; if it stays, tell whoever runs this service the request id.",
  ServiceUnavailableException: "The service was not ready. Send it again after as long as Retry-After says.",
};

/** Null: there is nothing to say that the code does not say. */
export function errorHint(code: string): string | null {
  return Object.hasOwn(HINTS, code) ? (HINTS[code] ?? null) : null;
}
