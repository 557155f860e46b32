/** OpenAPI operations outside v1: health, metrics and documentation. They need no API key. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { extensibleEnum } from "../errors.schema.ts";
import { errorExample, errorEnvelope } from "./errors.ts";
import { inlineHeaders } from "./headers.ts";

const requestIdHeader = inlineHeaders(["X-Request-Id"]);

const dependencySchema = z.object({
  status: extensibleEnum(["up", "down"], "Status of the dependency"),
  message: z
    .string()
    .optional()
    .meta({ description: "Problem of the dependency; absent if there is none", examples: ["unreachable"] }),
});

const liveSchema = z
  .object({ status: extensibleEnum(["live"], "The state of the process") })
  .meta({ id: "Liveness" });

const readySchema = z
  .object({
    status: extensibleEnum(["ready", "not_ready", "stopping"], "Status of the process"),
    dependencies: z.record(z.string(), dependencySchema).meta({ description: "Dependencies by name" }),
  })
  .meta({ id: "Readiness" });

/** Returns a response with a body of the media type `type`. */
function responseOf(description: string, type: string, media: { schema: z.ZodType; example?: unknown }) {
  return { description, headers: requestIdHeader, content: { [type]: media } };
}

/** Linters require that every operation declares a client error. */
const malformedRequest = {
  description: "The request is malformed, or the path does not support this method.",
  headers: requestIdHeader,
  content: {
    "application/json": { schema: errorEnvelope, example: errorExample("MethodNotAllowedException") },
  },
};

/** Responses of the operations that return a document with an ETag. */
const documentResponses = (schema: z.ZodType) => ({
  200: {
    ...responseOf("The document.", "application/json", { schema }),
    headers: {
      ...requestIdHeader,
      ETag: {
        description: "Version of the document. Send it as `If-None-Match`.",
        required: true,
        schema: { type: "string" as const },
        example: 'W/"q0Yb0bJ3m1dJm0hW0Wb9wA"',
      },
    },
  },
  304: { description: "The document matches `If-None-Match`.", headers: requestIdHeader },
});
const openApiResponses = documentResponses(z.looseObject({ openapi: z.string() }));

type OpsOperationSpec = Pick<RouteConfig, "path" | "operationId" | "summary" | "description" | "responses">;

function opsOperation({ responses, ...rest }: OpsOperationSpec): RouteConfig {
  return {
    method: "get",
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
    summary: "Check liveness",
    description: "For supervisors that restart a hanging process. Does not check dependencies.",
    responses: {
      200: responseOf("The process is running.", "application/json", {
        schema: liveSchema,
        example: { status: "live" },
      }),
    },
  }),
  opsOperation({
    path: "/health/ready",
    operationId: "getReadiness",
    summary: "Check readiness",
    description:
      "For load balancers. Returns 503 while PostgreSQL is unreachable or the process is stopping. If MongoDB is " +
      "unreachable, only processes that are workers without the API return 503. Workers also return 503 while " +
      "deliveries have been due for 60 s and none is in flight.",
    responses: {
      200: responseOf("The process is ready.", "application/json", {
        schema: readySchema,
        example: { status: "ready", dependencies: { postgres: { status: "up" }, mongodb: { status: "up" } } },
      }),
      503: responseOf("The process is not ready. Send requests elsewhere.", "application/json", {
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
    summary: "Get metrics",
    description:
      "Metrics for Prometheus: request counts and durations by route and status, connections, memory and more.",
    responses: {
      200: responseOf("Metrics in the Prometheus text format.", "text/plain", {
        schema: z.string(),
        example: "# TYPE waymark_http_requests_in_flight gauge\nwaymark_http_requests_in_flight 1\n",
      }),
    },
  }),
  opsOperation({
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "Get the OpenAPI document of the partner API",
    description: "OpenAPI 3.1, generated from the schemas that validate requests. Has an `ETag`.",
    responses: openApiResponses,
  }),
  opsOperation({
    path: "/docs/operations.json",
    operationId: "getOperationsOpenApi",
    summary: "Get this document",
    description: "OpenAPI 3.1 of the operations endpoints. Has an `ETag`.",
    responses: openApiResponses,
  }),
  opsOperation({
    path: "/docs/waymark.postman_collection.json",
    operationId: "getPostmanCollection",
    summary: "Get a Postman collection of the partner API",
    description: "Format 2.1, with a request for each operation and each example of its body. Has an `ETag`.",
    responses: documentResponses(z.looseObject({ info: z.looseObject({ schema: z.string() }) })),
  }),
  opsOperation({
    path: "/docs",
    operationId: "getReferencePage",
    summary: "Open the reference page",
    description: "Interactive documentation of the partner API. The page loads nothing from other hosts.",
    responses: { 200: responseOf("The page.", "text/html", { schema: z.string() }) },
  }),
];
