/** What stands beside v1: health, figures, and the description itself. None of it asks for a key. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { headersOf } from "./openapi.headers.ts";

const dependencySchema = z.strictObject({
  status: z.enum(["up", "down"]),
  message: z
    .string()
    .optional()
    .meta({ description: "What is wrong with it", examples: ["out of reach"] }),
});

const liveSchema = z.strictObject({ status: z.literal("live") }).meta({ id: "Liveness" });

const readySchema = z
  .strictObject({
    status: z.enum(["ready", "not_ready", "stopping"]),
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
  return { description, headers: headersOf([]), content: { [type]: media } };
}

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
    tags: ["Operation"],
    security: [],
    responses: answers,
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
      "away the API goes on, and only a process that is a worker alone is not ready.",
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
    summary: "This document",
    description: "OpenAPI 3.1, made from the very schemas that check requests.",
    answers: {
      200: answerOf({
        description: "The document.",
        type: "application/json",
        schema: z.looseObject({ openapi: z.string() }),
      }),
    },
  }),
  open({
    path: "/docs",
    operationId: "getReferencePage",
    summary: "The reference page",
    description:
      "This document as a page to read and to try requests on. Nothing of it comes from another host.",
    answers: { 200: answerOf({ description: "The page.", type: "text/html", schema: z.string() }) },
  }),
];
