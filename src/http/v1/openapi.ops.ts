/** What stands beside v1: health, figures, and the description itself. None of it asks for a key. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { openCode } from "./failures.schema.ts";
import { failureExample, errorEnvelope } from "./openapi.failures.ts";
import { inlineHeaders } from "./openapi.headers.ts";

const requestIdHeader = inlineHeaders(["X-Request-Id"]);

const dependencySchema = z.object({
  status: openCode(["up", "down"], "The state of the dependency"),
  message: z
    .string()
    .optional()
    .meta({ description: "What is wrong with it", examples: ["out of reach"] }),
});

const liveSchema = z
  .object({ status: openCode(["live"], "The state of the process") })
  .meta({ id: "Liveness" });

const readySchema = z
  .object({
    status: openCode(["ready", "not_ready", "stopping"], "The state of the process"),
    dependencies: z.record(z.string(), dependencySchema).meta({ description: "Each dependency by name" }),
  })
  .meta({ id: "Readiness" });

interface Content {
  description: string;
  type: string;
  schema: z.ZodType;
  example?: unknown;
}

function answerOf({ description, type, schema, example }: Content) {
  const media = example === undefined ? { schema } : { schema, example };
  return { description, headers: requestIdHeader, content: { [type]: media } };
}

/** Linters want every operation to declare a client error. */
const malformed = {
  description: "The request is malformed, or the path does not have this method.",
  headers: requestIdHeader,
  content: {
    "application/json": { schema: errorEnvelope, example: failureExample("MethodNotAllowedException") },
  },
};

/** The answers of an operation that sends an OpenAPI document. */
const documentAnswers = {
  200: {
    ...answerOf({
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

interface OpsOperation {
  path: string;
  operationId: string;
  summary: string;
  description: string;
  answers: RouteConfig["responses"];
}

function open({ path, answers, ...rest }: OpsOperation): RouteConfig {
  return {
    method: "get",
    path,
    ...rest,
    tags: ["Operations"],
    security: [],
    responses: { ...answers, "4XX": malformed },
  };
}

export const opsOperations: readonly RouteConfig[] = [
  open({
    path: "/health/live",
    operationId: "getLiveness",
    summary: "Is the process alive",
    description: "For whoever restarts the process when it hangs. Asks no dependency.",
    answers: {
      200: answerOf({
        description: "It is.",
        type: "application/json",
        schema: liveSchema,
        example: { status: "live" },
      }),
    },
  }),
  open({
    path: "/health/ready",
    operationId: "getReadiness",
    summary: "Is the process ready for requests",
    description:
      "For load balancers: each dependency by name. Not ready while PostgreSQL is away or the process stops. With MongoDB " +
      "away the API goes on, and only a process that is a worker alone is not ready. A worker is not ready either while " +
      "deliveries have been due for 60 s and none is being sent.",
    answers: {
      200: answerOf({
        description: "It is.",
        type: "application/json",
        schema: readySchema,
        example: { status: "ready", dependencies: { postgres: { status: "up" }, mongodb: { status: "up" } } },
      }),
      503: answerOf({
        description: "It is not; send requests elsewhere.",
        type: "application/json",
        schema: readySchema,
        example: {
          status: "not_ready",
          dependencies: {
            postgres: { status: "down", message: "out of reach" },
            mongodb: { status: "up" },
          },
        },
      }),
    },
  }),
  open({
    path: "/metrics",
    operationId: "getMetrics",
    summary: "Figures for Prometheus",
    description: "Requests by route and status with their times, connections, memory and more.",
    answers: {
      200: answerOf({
        description: "The figures, in Prometheus' text format.",
        type: "text/plain",
        schema: z.string(),
        example: "# TYPE waymark_http_requests_in_flight gauge\nwaymark_http_requests_in_flight 1\n",
      }),
    },
  }),
  open({
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "The OpenAPI document of the partner API",
    description: "OpenAPI 3.1, generated from the schemas that check requests. Has an `ETag`.",
    answers: documentAnswers,
  }),
  open({
    path: "/docs/operations.json",
    operationId: "getOperationsOpenApi",
    summary: "This document",
    description: "OpenAPI 3.1 of the operations endpoints. Has an `ETag`.",
    answers: documentAnswers,
  }),
  open({
    path: "/docs",
    operationId: "getReferencePage",
    summary: "The reference page",
    description:
      "The partner API as a page to read and to try requests on. It loads nothing from another host.",
    answers: { 200: answerOf({ description: "The page.", type: "text/html", schema: z.string() }) },
  }),
];
