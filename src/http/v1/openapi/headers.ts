/** The headers of answers, each described once, and those of requests that ask for more than JSON. */
import { z } from "zod";

/** An alias, since OpenAPI's own types want an index signature, which an interface has not. */
export type HeaderSpec = {
  description: string;
  /** False where the header stands on some answers of an operation only. */
  required: boolean;
  schema: { type: "string" | "integer"; pattern?: string; enum?: string[]; minimum?: number };
  example: string | number;
};

export type HeaderName =
  | "X-Request-Id"
  | "ETag"
  | "Link"
  | "X-Ignored-Fields"
  | "Idempotency-Replayed"
  | "RateLimit"
  | "RateLimit-Policy"
  | "X-RateLimit-Limit"
  | "X-RateLimit-Remaining"
  | "X-RateLimit-Reset"
  | "Retry-After"
  | "WWW-Authenticate"
  | "Allow";

export type HeaderSpecs = Record<string, HeaderSpec | { $ref: string }>;

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

const headerDescriptions: Record<HeaderName, HeaderSpec> = {
  "X-Request-Id": {
    description:
      "Id of the request, the same as `request_id` in the body. Quote it when you ask about a request.",
    required: true,
    schema: { type: "string", pattern: "^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$" },
    example: "req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
  },
  ETag: {
    description: "Version of the job. Send it back as `If-Match` to change only what you have seen.",
    required: true,
    schema: { type: "string", pattern: '^"[1-9][0-9]*"$' },
    example: '"4"',
  },
  Link: {
    description:
      "Links to the first, previous, next and last page (RFC 8288); where the list is read by cursor, to the first and " +
      "next. Absent where it would be longer than 8,000 characters.",
    required: false,
    schema: text,
    example: '</v1/jobs?page=1>; rel="first", </v1/jobs?page=2>; rel="next", </v1/jobs?page=3>; rel="last"',
  },
  "X-Ignored-Fields": {
    description:
      "Keys of the body that no partner may write, percent-encoded, as many as 4,000 characters hold. Absent where there are none.",
    required: false,
    schema: text,
    example: "id, provider_status",
  },
  "Idempotency-Replayed": {
    description: "Present if this is the stored answer of an earlier request with the same Idempotency-Key.",
    required: false,
    schema: { type: "string", enum: ["true"] },
    example: "true",
  },
  RateLimit: {
    description:
      "What is left of the limit of the key and of its organization: `r` requests now, all again in `t` seconds. Absent where the limit is switched off.",
    required: false,
    schema: text,
    example: '"read";r=99;t=1, "read-organization";r=399;t=1',
  },
  "RateLimit-Policy": {
    description:
      "The limits of the key and of all keys of its organization: `q` requests at once, refilled over `w` seconds. Absent where the limit is switched off.",
    required: false,
    schema: text,
    example: '"read";q=100;w=2, "read-organization";q=400;w=2',
  },
  "X-RateLimit-Limit": {
    description: "Requests at once, of the limit with the fewest requests left.",
    required: false,
    schema: { type: "integer", minimum: 1 },
    example: 100,
  },
  "X-RateLimit-Remaining": { description: "Requests left now.", required: false, schema: count, example: 99 },
  "X-RateLimit-Reset": {
    description: "Seconds until all are back.",
    required: false,
    schema: count,
    example: 1,
  },
  "Retry-After": {
    description: "Seconds to wait before the next try.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  "WWW-Authenticate": {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string", enum: ["Bearer"] },
    example: "Bearer",
  },
  Allow: {
    description: "The methods that the path has.",
    required: true,
    schema: text,
    example: "GET, HEAD, PATCH",
  },
};

/** On answers to a PATCH, which may be a dry run. */
export const etagUnlessDryRun: HeaderSpecs = {
  ETag: {
    ...headerDescriptions.ETag,
    description: `${headerDescriptions.ETag.description} Absent on a dry run that would change the job: that version does not exist.`,
    required: false,
  },
};

export const headerComponents = Object.entries(headerDescriptions);

/** On every answer to a request whose key was accepted. */
export const rateLimitHeaders: readonly HeaderName[] = [
  "RateLimit",
  "RateLimit-Policy",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
];

/** The headers of an answer; `X-Request-Id` is always among them. */
export function headersOf(names: readonly HeaderName[]): HeaderSpecs {
  const all: HeaderName[] = ["X-Request-Id", ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The same headers described in place, and required: for a document or an answer without the shared components. */
export function inlineHeaders(names: readonly HeaderName[]): HeaderSpecs {
  return Object.fromEntries(names.map((name) => [name, { ...headerDescriptions[name], required: true }]));
}

export const idempotencyKeyHeader = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/)
  .optional()
  .meta({
    description:
      "Makes a repeat safe: once a request with this key has changed something, the same request gets the same answer for " +
      "24 hours and changes nothing. A request that changed nothing runs again. Keys count per organization and route.",
    examples: ["4f1c9a52-8d0e-4b6e-9c1f-2a7d5e3b8f60"],
  });

export const ifMatchHeader = z
  .string()
  .optional()
  .meta({
    description:
      "Changes the job only while its ETag is one of these; otherwise 412. `*` allows any version.",
    examples: ['"4"'],
  });

export const ifNoneMatchHeader = z
  .string()
  .optional()
  .meta({
    description: "Answers 304 without a body if the job's ETag is one of these, or for `*`.",
    examples: ['"4"'],
  });
