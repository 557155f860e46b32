/** What stands beside v1: health, figures, and the description itself. None of it asks for a key. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { extensibleEnum } from "../errors.schema.ts";
import { errorExample, errorEnvelope } from "./errors.ts";
import { inlineHeaders } from "./headers.ts";

const requestIdHeader = inlineHeaders(["X-Request-Id"]);

const dependencySchema = z.object({
  status: extensibleEnum(["up", "down"], "The state of the dependency"),
  message: z
    .string()
    .optional()
    .meta({ description: "What is wrong with it", examples: ["unreachable"] }),
});

const liveSchema = z
  .object({ status: extensibleEnum(["live"], "The state of the process") })
  .meta({ id: "Liveness" });

const readySchema = z
  .object({
    status: extensibleEnum(["ready", "not_ready", "stopping"], "The state of the process"),
    dependencies: z.record(z.string(), dependencySchema).meta({ description: "Each dependency by name" }),
  })
  .meta({ id: "Readiness" });

interface ResponseContent {
  description: string;
  type: string;
  schema: z.ZodType;
  example?: unknown;
}

function responseOf({ description, type, schema, example }: ResponseContent) {
  const media = example === undefined ? { schema } : { schema, example };
  return { description, headers: requestIdHeader, content: { [type]: media } };
}

/** Linters want every operation to declare a client error. */
const malformedRequest = {
  description: "The request is malformed, or the path does not have this method.",
  headers: requestIdHeader,
  content: {
    "application/json": { schema: errorEnvelope, example: errorExample("MethodNotAllowedException") },
  },
};

/** The answers of an operation that sends an OpenAPI document. */
const documentResponses = {
  200: {
    ...responseOf({
      description: "The document.",
      type: "application/json",
      schema: z.looseObject({ openapi: z.string() }),
    }),
    headers: {
      ...requestIdHeader,
      ETag: {
        description: "Changes with the document. Send it back as `If-None-Match`.",
        required: true,
        schema: { type: "string" as const },
        example: 'W/"q0Yb0bJ3m1dJm0hW0Wb9wA"',
      },
    },
  },
  304: { description: "The document is the one that `If-None-Match` names.", headers: requestIdHeader },
};

interface OpsOperationSpec {
  path: string;
  operationId: string;
  summary: string;
  description: string;
  responses: RouteConfig["responses"];
}

function opsOperation({ path, responses, ...rest }: OpsOperationSpec): RouteConfig {
  return {
    method: "get",
    path,
    ...rest,
    tags: ["Operations"],
    security: [],
    responses: { ...responses, "4XX": malformedRequest },
  };
}

export const opsOperations: readonly RouteConfig[] = [
  opsOperation({
    path: "/health/live",
    operationId: "getLiveness",
    summary: "Is the process alive",
    description: "For whoever restarts the process when it hangs. Asks no dependency.",
    responses: {
      200: responseOf({
        description: "It is.",
        type: "application/json",
        schema: liveSchema,
        example: { status: "live" },
      }),
    },
  }),
  opsOperation({
    path: "/health/ready",
    operationId: "getReadiness",
    summary: "Is the process ready for requests",
    description:
      "For load balancers: each dependency by name. Not ready while PostgreSQL is away or the process stops. With MongoDB " +
      "away the API goes on, and only a process that is a worker alone is not ready. A worker is not ready either while " +
      "deliveries have been due for 60 s and none is being sent.",
    responses: {
      200: responseOf({
        description: "It is.",
        type: "application/json",
        schema: readySchema,
        example: { status: "ready", dependencies: { postgres: { status: "up" }, mongodb: { status: "up" } } },
      }),
      503: responseOf({
        description: "It is not; send requests elsewhere.",
        type: "application/json",
        schema: readySchema,
        example: {
          status: "not_ready",
          dependencies: {
            postgres: { status: "down", message: "unreachable" },
            mongodb: { status: "up" },
          },
        },
      }),
    },
  }),
  opsOperation({
    path: "/metrics",
    operationId: "getMetrics",
    summary: "Figures for Prometheus",
    description: "Requests by route and status with their times, connections, memory and more.",
    responses: {
      200: responseOf({
        description: "The figures, in Prometheus' text format.",
        type: "text/plain",
        schema: z.string(),
        example: "# TYPE waymark_http_requests_in_flight gauge\nwaymark_http_requests_in_flight 1\n",
      }),
    },
  }),
  opsOperation({
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "The OpenAPI document of the partner API",
    description: "OpenAPI 3.1, generated from the schemas that check requests. Has an `ETag`.",
    responses: documentResponses,
  }),
  opsOperation({
    path: "/docs/operations.json",
    operationId: "getOperationsOpenApi",
    summary: "This document",
    description: "OpenAPI 3.1 of the operations endpoints. Has an `ETag`.",
    responses: documentResponses,
  }),
  opsOperation({
    path: "/docs",
    operationId: "getReferencePage",
    summary: "The reference page",
    description:
      "The partner API as a page to read and to try requests on. It loads nothing from another host.",
    responses: { 200: responseOf({ description: "The page.", type: "text/html", schema: z.string() }) },
  }),
];
