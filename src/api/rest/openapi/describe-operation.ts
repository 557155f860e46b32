/** Describes a declared operation for OpenAPI. Its names become those of REST. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { type ErrorCode, invariant } from "../../../core/errors.ts";
import { isPage, type Operation, type OperationText, takesQuery } from "../../../operations/operation.ts";
import { wireSchema, writerOf } from "../wire.ts";
import { invalidExample, malformedIdempotencyKey } from "./error-examples.ts";
import {
  type HeaderName,
  idempotencyKeyHeader,
  rateLimitHeaders,
  secretIdempotencyKeyHeader,
} from "./headers.ts";
import { jsonBody, operation } from "./operation.ts";

export function describeOperation(declared: Operation<never>): RouteConfig {
  const { name, rest, access, once, output, text } = declared;
  const { id } = output.meta() ?? {};
  invariant(typeof id === "string", "the output of an operation is a component");
  const malformed =
    text.malformed?.map(({ summary, problems, message }) => ({
      ...invalidExample(summary, problems),
      ...(message !== undefined && { message }),
    })) ??
    (once && malformedIdempotencyKey);
  return operation({
    method: rest.method,
    path: rest.path,
    operationId: name,
    summary: text.summary,
    description: text.description,
    tag: text.tag,
    scopes: access.scopes,
    request: requestOf(declared),
    success: {
      status: rest.status ?? 200,
      description: text.result.description,
      name: `${text.result.name ?? id}Envelope`,
      data: wireSchema(output),
      examples: mapValues(text.result.examples, writerOf(output)),
      headers: [
        ...(once ? ["Idempotency-Replayed" as const] : []),
        ...(isPage(declared) ? ["Link" as const] : []),
      ],
    },
    ...(malformed && { malformed }),
    errors: errorsOf(declared),
    ownErrors: mapValues(text.ownErrors ?? {}, (own, code) => ({ ...own, ...ownErrorHeaders[code] })),
  });
}

function requestOf({ rest, once, params, input, text: { body } }: Operation<never>) {
  const hasQuery = takesQuery(rest) && Object.keys(input.shape).length > 0;
  const keyHeader = once?.secrets ? secretIdempotencyKeyHeader : idempotencyKeyHeader;
  return {
    ...(Object.keys(params.shape).length > 0 && { params }),
    ...(once && { headers: z.object({ "Idempotency-Key": keyHeader }) }),
    ...(hasQuery && { query: wireSchema(input) }),
    ...(body && { body: bodyOf(input, body) }),
  };
}

function bodyOf(
  input: z.ZodObject,
  { description, examples, isOptional = false }: NonNullable<OperationText["body"]>,
) {
  const write = writerOf(input);
  const written = mapValues(examples, ({ summary, value }) => ({ summary, value: write(value) as object }));
  return { ...jsonBody(description, wireSchema(input), written), required: !isOptional };
}

function errorsOf({ once, params, text: { body, errors = [] } }: Operation<never>): ErrorCode[] {
  return [
    ...(Object.keys(params.shape).length > 0 ? ["NotFoundException" as const] : []),
    ...(body ? (["PayloadTooLargeException", "UnsupportedMediaTypeException"] as const) : []),
    ...(once ? (["ConflictException", "UnprocessableEntityException"] as const) : []),
    ...errors,
  ];
}

/** Some of these responses lack the headers of the key's limit. */
const ownErrorHeaders: Readonly<Record<string, { headers: readonly HeaderName[] }>> = {
  ForbiddenException: { headers: rateLimitHeaders },
  TooManyRequestsException: { headers: ["Retry-After", ...rateLimitHeaders] },
};

function mapValues<Value, Mapped>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}
