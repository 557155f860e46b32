/** Builds the OpenAPI description of one v1 operation, with the parts common to all operations. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import type { Scope } from "../../../api-keys/api.ts";
import { type ErrorCode, statusOf } from "../../../core/errors.ts";
import { exampleRequestId } from "../../../events/api.ts";
import { errorResponse, responseName, type ErrorExample, type OwnError } from "./errors.ts";
import { headersOf, rateLimitHeaders, type HeaderName, type HeaderSpecs } from "./headers.ts";
import { requestIdSchema } from "../../../operations/schemas.ts";

interface SuccessResponse {
  /** Default: 200. */
  status?: 200 | 201 | 202;
  description: string;
  /** Name of the envelope schema. */
  name: string;
  data: z.ZodType;
  /** `data` of each example, by its summary. */
  examples: Readonly<Record<string, unknown>>;
  headers?: readonly HeaderName[];
  /** Headers that are specific to this operation. */
  ownHeaders?: HeaderSpecs;
}

interface OperationSpec {
  method: "get" | "post" | "patch" | "delete";
  path: string;
  operationId: string;
  summary: string;
  description: string;
  tag: string;
  /** All of them are required; an empty list: any key. */
  scopes: readonly Scope[];
  request?: NonNullable<RouteConfig["request"]>;
  success: SuccessResponse;
  /** True if it returns 304 for a matching `If-None-Match`. */
  isConditional?: boolean;
  /** Examples of malformed requests; absent if no request can be malformed. */
  malformed?: readonly ErrorExample[];
  /** Errors besides `commonErrors` and 400. */
  errors?: readonly ErrorCode[];
  /** Errors that have other causes here than in the operations of jobs. */
  ownErrors?: Partial<Record<ErrorCode, OwnError>>;
}

const commonErrors: readonly ErrorCode[] = [
  "UnauthorizedException",
  "ForbiddenException",
  "TooManyRequestsException",
  "InternalServerErrorException",
  "ServiceUnavailableException",
];

/** Errors of the body and of the Idempotency-Key. */
export const changeErrors = [
  "PayloadTooLargeException",
  "UnsupportedMediaTypeException",
  "ConflictException",
  "UnprocessableEntityException",
] as const;

/** Returns a required JSON body. */
export function jsonBody(
  description: string,
  schema: z.ZodType,
  examples: Record<string, { summary: string; value: object }>,
) {
  return { required: true, description, content: { "application/json": { schema, examples } } };
}

/** Returns the operation with its security, its required scopes, and all its responses, by status. */
export function operation({
  description,
  tag,
  scopes,
  success,
  isConditional = false,
  malformed,
  errors = [],
  ownErrors = {},
  ...rest
}: OperationSpec): RouteConfig {
  return {
    ...rest,
    description: `${description}\n\n${scopesSentence(scopes)}`,
    tags: [tag],
    security: [{ ApiKey: [] }, { Bearer: [] }],
    "x-required-scopes": [...scopes],
    responses: {
      [success.status ?? 200]: successResponse(success),
      ...(isConditional && { 304: notModified }),
      ...(malformed && { 400: errorResponse("BadRequestException", { examples: malformed }) }),
      ...Object.fromEntries(
        [...errors, ...commonErrors].map((code) => [
          statusOf(code),
          { $ref: `#/components/responses/${responseName(code)}` },
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(ownErrors).map(([code, own]) => [
          statusOf(code as ErrorCode),
          errorResponse(code as ErrorCode, own),
        ]),
      ),
    },
  };
}

function scopesSentence(scopes: readonly Scope[]): string {
  if (scopes.length === 0) return "Any key can use it; no scope is required.";
  const names = scopes.map((scope) => `\`${scope}\``).join(" and ");
  return `Required ${scopes.length === 1 ? "scope" : "scopes"}: ${names}.`;
}

const notModified = {
  description: "`If-None-Match` matches the job's ETag. There is no body.",
  headers: headersOf(["ETag", ...rateLimitHeaders]),
};

function successResponse({
  description,
  name,
  data,
  examples,
  headers = [],
  ownHeaders,
}: SuccessResponse): RouteConfig["responses"][string] {
  const envelope = z
    .object({
      request_id: requestIdSchema,
      success: z.boolean().meta({ description: "Always true" }),
      data,
      error: z.null().meta({ type: ["object", "null"], description: "Always null" }),
    })
    .meta({ id: name });
  const values = Object.fromEntries(
    Object.entries(examples).map(([summary, value], index) => [
      `example${index + 1}`,
      { summary, value: { request_id: exampleRequestId, success: true, data: value, error: null } },
    ]),
  );
  return {
    description,
    headers: { ...headersOf([...headers, ...rateLimitHeaders]), ...ownHeaders },
    content: { "application/json": { schema: envelope, examples: values } },
  };
}
