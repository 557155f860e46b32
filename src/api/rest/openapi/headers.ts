/** OpenAPI descriptions of response headers and of the conditional and idempotency request headers. */
import { z } from "zod";

/** A type alias because OpenAPI's types require an index signature, which interfaces lack. */
export type HeaderSpec = {
  description: string;
  /** False if only some responses of an operation have the header. */
  required: boolean;
  schema: { type: "string" | "integer"; pattern?: string; enum?: string[]; minimum?: number };
  example: string | number;
};

export type HeaderName = keyof typeof headerDescriptions;

export type HeaderSpecs = Record<string, HeaderSpec | { $ref: string }>;

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** Returns a header that some responses of an operation have, with a text as its value, unless `more` says otherwise. */
function header(
  description: string,
  example: string | number,
  more: Partial<Pick<HeaderSpec, "required" | "schema">> = {},
): HeaderSpec {
  return { description, required: false, schema: text, ...more, example };
}

const headerDescriptions = {
  "X-Request-Id": header(
    "Request ID, the same as `request_id` in the body. Quote it in support requests.",
    "req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
    { required: true, schema: { type: "string", pattern: "^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$" } },
  ),
  ETag: header(
    "Version of the job. Send it as `If-Match` to update the job only if it has not changed since.",
    '"4"',
    { required: true, schema: { type: "string", pattern: '^"[1-9][0-9]*"$' } },
  ),
  Link: header(
    "Links to the first, previous, next and last page (RFC 8288). With `cursor`: only to the first and next page. " +
      "Absent if it would exceed 8,000 characters.",
    '</v1/jobs?page=1>; rel="first", </v1/jobs?page=2>; rel="next", </v1/jobs?page=3>; rel="last"',
  ),
  "X-Ignored-Fields": header(
    "Ignored keys of the body: unknown or read-only fields, percent-encoded. Truncated at 4,000 characters. Absent if no key was ignored.",
    "id, provider_status",
  ),
  "X-Ignored-Parameters": header(
    "Unknown parameters of the query, which have no effect, percent-encoded. Truncated at 4,000 characters. Absent if all are known.",
    "status, dryrun",
  ),
  "Idempotency-Replayed": header(
    "Present if this is the stored response of an earlier request with the same Idempotency-Key.",
    "true",
    { schema: { type: "string", enum: ["true"] } },
  ),
  RateLimit: header(
    "Remaining requests of the key and of its organization: `r` requests now, all again in `t` seconds. Absent if rate limits are off.",
    '"read";r=99;t=1, "read-organization";r=399;t=1',
  ),
  "RateLimit-Policy": header(
    "Limits of the key and of all keys of its organization together: `q` requests at once, refilled over `w` seconds. Absent if rate limits are off.",
    '"read";q=100;w=2, "read-organization";q=400;w=2',
  ),
  "X-RateLimit-Limit": header("Requests allowed at once, for the limit with the fewest requests left.", 100, {
    schema: { type: "integer", minimum: 1 },
  }),
  "X-RateLimit-Remaining": header("Requests left now.", 99, { schema: count }),
  "X-RateLimit-Reset": header("Seconds until all requests are available again.", 1, { schema: count }),
  "Retry-After": header("Seconds to wait before retrying.", 1, {
    required: true,
    schema: { type: "integer", minimum: 1 },
  }),
  "WWW-Authenticate": header("Authentication scheme to use.", "Bearer", {
    required: true,
    schema: { type: "string", enum: ["Bearer"] },
  }),
  Allow: header("Methods that the path supports.", "GET, HEAD, PATCH", { required: true }),
};

/** The ETag header of PATCH responses, which can be dry runs. */
export const etagUnlessDryRun: HeaderSpecs = {
  ETag: {
    ...headerDescriptions.ETag,
    description: `${headerDescriptions.ETag.description} Absent after a dry run that would change the job, because that version does not exist.`,
    required: false,
  },
};

export const headerComponents = Object.entries(headerDescriptions);

/** Headers of every response to a request with a valid key. */
export const rateLimitHeaders = (Object.keys(headerDescriptions) as HeaderName[]).filter((name) =>
  name.includes("RateLimit"),
);

/** Headers of a response after the input was read: only reads ignore parameters. */
export const readHeaders: readonly HeaderName[] = ["X-Ignored-Parameters", ...rateLimitHeaders];

/** Returns references to the named headers and to `X-Request-Id`. */
export function headersOf(names: readonly HeaderName[]): HeaderSpecs {
  const all: HeaderName[] = ["X-Request-Id", ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns the named headers inline and required. */
export function inlineHeaders(names: readonly HeaderName[]): HeaderSpecs {
  return Object.fromEntries(names.map((name) => [name, { ...headerDescriptions[name], required: true }]));
}

const IDEMPOTENCY_KEY_DESCRIPTION =
  "Makes retries safe. After a request with this key has changed something, repeating it within 24 hours returns the " +
  "stored response and changes nothing. A request that changed nothing is executed again. Keys are scoped to the " +
  "organization and route.";

const idempotencyKey = (description: string) =>
  z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .meta({ description, examples: ["4f1c9a52-8d0e-4b6e-9c1f-2a7d5e3b8f60"] });

export const idempotencyKeyHeader = idempotencyKey(IDEMPOTENCY_KEY_DESCRIPTION);

/** For operations whose response contains a new secret. */
export const secretIdempotencyKeyHeader = idempotencyKey(
  `${IDEMPOTENCY_KEY_DESCRIPTION} A secret is not stored: the repeated response has null in its place.`,
);

const etags = (description: string) =>
  z
    .string()
    .optional()
    .meta({ description, examples: ['"4"'] });

export const ifMatchHeader = etags(
  "Updates the job only if its ETag is one of these; otherwise returns 412. `*` allows any version.",
);

export const ifNoneMatchHeader = etags(
  "Returns 304 without a body if the job's ETag is one of these, or for `*`.",
);
