/** Describes a declared operation for OpenAPI. Its names become those of REST. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import type { Scope } from "../../../api-keys/api.ts";
import { type ErrorCode, invariant, problemIn, statusOf } from "../../../core/errors.ts";
import { exampleRequestId } from "../../../events/api.ts";
import {
  isPage,
  isRead,
  bodyOf,
  memberFrom,
  type RestOperation,
  type OperationText,
  queryOf,
} from "../../../operations/operation.ts";
import { requestIdSchema } from "../../../operations/schemas.ts";
import { closedWireSchema, wireSchema, writerOf } from "../wire.ts";
import { type ErrorExample, errorResponse, responseName } from "./errors.ts";
import {
  etagUnlessDryRun,
  type HeaderName,
  headersOf,
  idempotencyKeyHeader,
  ifMatchHeader,
  ifNoneMatchHeader,
  rateLimitHeaders,
  readHeaders,
  secretIdempotencyKeyHeader,
} from "./headers.ts";

/** Returns the operation with its security, its scopes, and all its responses, by status. */
export function describeOperation(operation: RestOperation<never>): RouteConfig {
  const { name, rest, access, text } = operation;
  return {
    method: rest.method,
    path: rest.path,
    operationId: name,
    summary: text.summary,
    request: requestOf(operation),
    description: `${text.description}\n\n${scopesSentence(access.scopes)}`,
    tags: [text.tag],
    security: [{ ApiKey: [] }, { Bearer: [] }],
    "x-required-scopes": [...access.scopes],
    responses: {
      [rest.status ?? 200]: successOf(operation),
      ...(isConditional(operation) && { 304: notModified }),
      ...errorsOf(operation),
    },
  };
}

function scopesSentence(scopes: readonly Scope[]): string {
  if (scopes.length === 0) return "Any key can use it; no scope is required.";
  const names = scopes.map((scope) => `\`${scope}\``).join(" and ");
  return `Required ${scopes.length === 1 ? "scope" : "scopes"}: ${names}.`;
}

/** True if it returns 304 for a matching `If-None-Match`. */
function isConditional({ rest, versioned }: RestOperation<never>): boolean {
  return versioned === true && rest.method === "get";
}

const notModified = {
  description: "`If-None-Match` matches the job's ETag. There is no body.",
  headers: headersOf(["ETag", ...readHeaders]),
};

function requestOf(operation: RestOperation<never>) {
  const { rest, once, params, text } = operation;
  const query = queryOf(operation);
  const headers = {
    ...(once && {
      "Idempotency-Key": once.secrets ? secretIdempotencyKeyHeader : idempotencyKeyHeader,
    }),
    ...(memberFrom("If-Match", rest) !== undefined && { "If-Match": ifMatchHeader }),
    ...(isConditional(operation) && { "If-None-Match": ifNoneMatchHeader }),
  };
  return {
    ...(Object.keys(params.shape).length > 0 && { params }),
    ...(Object.keys(headers).length > 0 && { headers: z.object(headers) }),
    ...(query && { query: wireSchema(query) }),
    ...(text.body && { body: describeBody(bodyOf(operation), text.body) }),
  };
}

function describeBody(input: z.ZodObject, body: NonNullable<OperationText["body"]>) {
  const write = body.schema ? (value: object) => value : writerOf(input);
  return {
    required: body.isOptional !== true,
    description: body.description,
    content: {
      "application/json": {
        schema: body.schema ?? closedWireSchema(input),
        examples: Object.fromEntries(
          Object.entries(body.examples).map(([name, { summary, value }]) => [
            name,
            { summary, value: write(value) as object },
          ]),
        ),
      },
    },
  };
}

function successOf(operation: RestOperation<never>): RouteConfig["responses"][string] {
  const { output, text, once, rest, versioned } = operation;
  const { id } = output.meta() ?? {};
  invariant(typeof id === "string", "the output of an operation is a component");
  const envelope = z
    .object({
      request_id: requestIdSchema,
      success: z.boolean().meta({ description: "Always true" }),
      data: wireSchema(output),
      error: z.null().meta({ type: ["object", "null"], description: "Always null" }),
    })
    .meta({ id: `${text.result.name ?? id}Envelope` });
  const write = writerOf(output);
  const examples = Object.entries(text.result.examples).map(([summary, example], index) => {
    const value = { request_id: exampleRequestId, success: true, data: write(example), error: null };
    return [`example${index + 1}`, { summary, value }] as const;
  });
  const headers: HeaderName[] = [
    ...(memberFrom("body", rest) === undefined ? [] : ["X-Ignored-Fields" as const]),
    ...(once ? ["Idempotency-Replayed" as const] : []),
    ...(isConditional(operation) ? ["ETag" as const] : []),
    ...(isPage(operation) ? ["Link" as const] : []),
  ];
  return {
    description: text.result.description,
    headers: {
      ...headersOf([...headers, ...(isRead(operation) ? readHeaders : rateLimitHeaders)]),
      ...(versioned && !isConditional(operation) && etagUnlessDryRun),
    },
    content: { "application/json": { schema: envelope, examples: Object.fromEntries(examples) } },
  };
}

const commonErrors: readonly ErrorCode[] = [
  "UnauthorizedException",
  "ForbiddenException",
  "TooManyRequestsException",
  "InternalServerErrorException",
  "ServiceUnavailableException",
];

/** Of these, some responses lack the headers of the key's limit. */
const ownErrorHeaders: Readonly<Record<string, { headers: readonly HeaderName[] }>> = {
  ForbiddenException: { headers: readHeaders },
  TooManyRequestsException: { headers: ["Retry-After", ...readHeaders] },
};

function errorsOf(operation: RestOperation<never>): RouteConfig["responses"] {
  const { once, params, text } = operation;
  const codes: ErrorCode[] = [
    ...(Object.keys(params.shape).length > 0 ? ["NotFoundException" as const] : []),
    ...(text.body ? (["PayloadTooLargeException", "UnsupportedMediaTypeException"] as const) : []),
    ...(once ? (["ConflictException", "UnprocessableEntityException"] as const) : []),
    ...(text.errors ?? []),
    ...commonErrors,
  ];
  const malformed = malformedOf(operation);
  const shared = codes.map((code) => [
    statusOf(code),
    { $ref: `#/components/responses/${responseName(code)}` },
  ]);
  const own = Object.entries(text.ownErrors ?? {}).map(([code, error]) => [
    statusOf(code as ErrorCode),
    errorResponse(code as ErrorCode, { ...error, ...ownErrorHeaders[code] }),
  ]);
  return {
    ...(malformed && { 400: errorResponse("BadRequestException", { examples: malformed }) }),
    ...(Object.fromEntries([...shared, ...own]) as RouteConfig["responses"]),
  };
}

const malformedIdempotencyKey = {
  summary: "A malformed Idempotency-Key",
  problems: [
    problemIn("header")("Idempotency-Key", "malformed", "must be 1 to 255 visible ASCII characters"),
  ],
};

const unknownParameter = {
  summary: "An unknown parameter",
  problems: [
    problemIn("query")("dryrun", "unknown_parameter", "is not a known parameter; this request takes none"),
  ],
};

/** Returns examples whose messages are the first problem, as real messages are; undefined if no request can be malformed. */
function malformedOf(operation: RestOperation<never>): ErrorExample[] | undefined {
  const { once, text } = operation;
  const ofAll = once ? [malformedIdempotencyKey] : isRead(operation) ? undefined : [unknownParameter];
  const malformed = text.malformed ?? ofAll;
  return malformed?.map(({ summary, problems, message }: NonNullable<OperationText["malformed"]>[number]) => {
    const [first] = problems ?? [];
    return {
      summary,
      message: message ?? `${first?.field} ${first?.message}`,
      ...(problems && { details: problems }),
    };
  });
}
