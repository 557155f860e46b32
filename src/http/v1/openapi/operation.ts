/** Builds the OpenAPI description of one v1 operation, with the parts common to all operations. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import type { Scope } from "../../../api-keys/api.ts";
import type { ErrorCode } from "../../../platform/errors.ts";
import { exampleRequestId } from "./examples.ts";
import { errorResponse, responseName, statusOf, type ErrorExample } from "./errors.ts";
import { headersOf, rateLimitHeaders, type HeaderName, type HeaderSpecs } from "./headers.ts";
import { requestIdSchema } from "../responses.schema.ts";

interface SuccessResponse {
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
  method: "get" | "patch";
  path: string;
  operationId: string;
  summary: string;
  description: string;
  tag: string;
  request?: NonNullable<RouteConfig["request"]>;
  success: SuccessResponse;
  /** True if it returns 304 for a matching `If-None-Match`. */
  isConditional?: boolean;
  /** Examples of malformed requests; absent if no request can be malformed. */
  malformed?: readonly ErrorExample[];
  /** Errors besides `commonErrors` and 400. */
  errors?: readonly ErrorCode[];
}

/** Changes need jobs:read too, because they return the job. */
const requiredScopes: Record<OperationSpec["method"], readonly Scope[]> = {
  get: ["jobs:read"],
  patch: ["jobs:write", "jobs:read"],
};

const commonErrors: readonly ErrorCode[] = [
  "UnauthorizedException",
  "ForbiddenException",
  "TooManyRequestsException",
  "InternalServerErrorException",
  "ServiceUnavailableException",
];

/** Returns the operation with its security, its required scopes, and all its responses, by status. */
export function operation({
  description,
  tag,
  success,
  isConditional = false,
  malformed,
  errors = [],
  ...rest
}: OperationSpec): RouteConfig {
  const scopes = requiredScopes[rest.method];
  const required = scopes.map((scope) => `\`${scope}\``).join(" and ");
  return {
    ...rest,
    description: `${description}\n\nRequired ${scopes.length === 1 ? "scope" : "scopes"}: ${required}.`,
    tags: [tag],
    security: [{ ApiKey: [] }, { Bearer: [] }],
    "x-required-scopes": [...scopes],
    responses: {
      200: successResponse(success),
      ...(isConditional && { 304: notModified }),
      ...(malformed && { 400: errorResponse("BadRequestException", malformed) }),
      ...Object.fromEntries(
        [...errors, ...commonErrors].map((code) => [
          statusOf(code),
          { $ref: `#/components/responses/${responseName(code)}` },
        ]),
      ),
    },
  };
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
