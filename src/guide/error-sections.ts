/** Which section of the guide explains each error code of REST and of GraphQL. */
import { errorCodes, statusOf, type ErrorCode } from "../core/errors.ts";
import { slugify } from "./contents.ts";

/** The values of `extensions.code` in GraphQL. */
const graphqlCodes = [
  "GRAPHQL_PARSE_FAILED",
  "GRAPHQL_VALIDATION_FAILED",
  "BAD_REQUEST",
  "OPERATION_RESOLUTION_FAILURE",
  "PERSISTED_QUERY_NOT_SUPPORTED",
  "BAD_USER_INPUT",
  "QUERY_TOO_EXPENSIVE",
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "REAUTHENTICATION_REQUIRED",
  "CONFLICT",
  "IDEMPOTENCY_KEY_REUSED",
  "CURSOR_EXPIRED",
  "RATE_LIMITED",
  "TIMEOUT",
  "SERVICE_UNAVAILABLE",
  "INTERNAL_SERVER_ERROR",
];

/** The heading in `docs/guide/errors.md` by code. */
export const errorHeadings: ReadonlyMap<string, string> = new Map([
  ...errorCodes.map((code: ErrorCode): [string, string] => [code, `${code} (${statusOf(code)})`]),
  ...graphqlCodes.map((code): [string, string] => [code, code]),
]);

/** Returns the path of the section about an error code, such as `/guide/errors#notfoundexception-404`. */
export function errorGuidePath(code: string): string {
  const heading = errorHeadings.get(code);
  return `/guide/errors${heading === undefined ? "" : `#${slugify(heading)}`}`;
}
