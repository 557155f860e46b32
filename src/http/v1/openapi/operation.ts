/** Builds the OpenAPI description of one v1 operation, with the parts common to all operations. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import type { Scope } from "../../../api-keys/api.ts";
import type { ErrorCode } from "../../../platform/errors.ts";
import { exampleRequestId } from "./examples.ts";
import { errorResponse, responseName, statusOf } from "./errors.ts";
import { headersOf, rateLimitHeaders, type HeaderName, type HeaderSpecs } from "./headers.ts";
import { requestIdSchema } from "../responses.schema.ts";

export interface SuccessResponse {
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

export interface OperationSpec {
  method: "get" | "patch";
  path: string;
  operationId: string;
  summary: string;
  description: string;
  tag: string;
  scopes: readonly Scope[];
  request?: NonNullable<RouteConfig["request"]>;
  success: SuccessResponse;
  /** True if it returns 304 for a matching `If-None-Match`. */
  isConditional?: boolean;
  /** Errors besides `commonErrors`: a code, or a code with overrides of its description. */
  errors: readonly (ErrorCode | readonly [ErrorCode, Parameters<typeof errorResponse>[1]])[];
}

const commonErrors: readonly ErrorCode[] = [
  "UnauthorizedException",
  "ForbiddenException",
  "TooManyRequestsException",
  "InternalServerErrorException",
  "ServiceUnavailableException",
];

export function operation({
  method,
  path,
  operationId,
  summary,
  description,
  tag,
  scopes,
  ...rest
}: OperationSpec): RouteConfig {
  const responses = [...rest.errors, ...commonErrors].map(toErrorResponse).toSorted(([a], [b]) => a - b);
  return {
    method,
    path,
    operationId,
    summary,
    description: `${description}\n\nRequired ${scopes.length === 1 ? "scope" : "scopes"}: ${scopes.map((scope) => `\`${scope}\``).join(" and ")}.`,
    tags: [tag],
    security: [{ ApiKey: [] }, { Bearer: [] }],
    "x-required-scopes": [...scopes],
    ...(rest.request && { request: rest.request }),
    responses: {
      200: successResponse(rest.success),
      ...(rest.isConditional && { 304: notModified }),
      ...Object.fromEntries(responses),
    },
  };
}

const notModified = {
  description: "`If-None-Match` matches the job's ETag. There is no body.",
  headers: headersOf(["ETag", ...rateLimitHeaders]),
};

function toErrorResponse(
  failure: OperationSpec["errors"][number],
): [number, RouteConfig["responses"][string]] {
  if (typeof failure === "string") {
    return [statusOf(failure), { $ref: `#/components/responses/${responseName(failure)}` }];
  }
  const [code, more] = failure;
  return [statusOf(code), errorResponse(code, more)];
}

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
  const values = Object.entries(examples).map(
    ([summary, value], index): [string, { summary: string; value: object }] => [
      `example${index + 1}`,
      { summary, value: { request_id: exampleRequestId, success: true, data: value, error: null } },
    ],
  );
  return {
    description,
    headers: { ...headersOf([...headers, ...rateLimitHeaders]), ...ownHeaders },
    content: { "application/json": { schema: envelope, examples: Object.fromEntries(values) } },
  };
}
