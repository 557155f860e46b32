/** OpenAPI operations outside v1: health, metrics and documentation. They need no API key. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import manifest from "../../../../package.json" with { type: "json" };
import { packageFiles, SDK_ALIASES } from "../../../sdk/api.ts";
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

const headersWithEtag = (description: string, example: string) => ({
  ...requestIdHeader,
  ETag: { description, required: true, schema: { type: "string" as const }, example },
});

/** Responses of the operations that return a document with an ETag. */
const documentResponses = (schema: z.ZodType) => ({
  200: {
    ...responseOf("The document.", "application/json", { schema }),
    headers: headersWithEtag(
      "Version of the document. Send it as `If-None-Match`.",
      'W/"q0Yb0bJ3m1dJm0hW0Wb9wA"',
    ),
  },
  304: { description: "The document matches `If-None-Match`.", headers: requestIdHeader },
});
const openApiResponses = documentResponses(z.looseObject({ openapi: z.string() }));

const SDK_EXAMPLE_SHA256 = "4dcf54c3ac293225073eede2794fc5e8deb1bb8c87ac66f7c6e5e6dc3d53be67";
const { typescript: sdkExampleFile } = packageFiles(manifest.version);
const sdkExampleUrl = `http://127.0.0.1:4000/sdk/${sdkExampleFile}`;

const sdkFile = {
  file: z.string().meta({ description: "Name of the file", examples: [sdkExampleFile] }),
  url: z.string().meta({ description: "URL of the file", examples: [sdkExampleUrl] }),
  sha256: z.string().meta({
    description: "SHA-256 of the file, in hexadecimal",
    examples: [SDK_EXAMPLE_SHA256],
  }),
  size: z.int().meta({ description: "Size in bytes", examples: [23167] }),
};
const sdkClientSchema = z
  .looseObject({
    language: extensibleEnum(["typescript", "python"], "Language of the client"),
    name: z.string().meta({ description: "Name of the package", examples: ["@waymark/client"] }),
    version: z
      .string()
      .meta({ description: "Version of the service that it belongs to", examples: [manifest.version] }),
    released: z.boolean().meta({
      description: "True if the file never changes. False if the service runs sources that are not released",
      examples: [true],
    }),
    alias: z
      .string()
      .optional()
      .meta({
        description: "Name that redirects to the file. Only the current version has it",
        examples: [SDK_ALIASES.typescript],
      }),
    ...sdkFile,
  })
  .meta({ id: "SdkClient", description: "A client that the service offers." });
const sdkFileSchema = z
  .looseObject(sdkFile)
  .meta({ id: "SdkFile", description: "A file that the service offers." });

const binaryFile = z.string().meta({ format: "binary" });

type OpsOperationSpec = Pick<
  RouteConfig,
  "path" | "operationId" | "summary" | "description" | "request" | "responses"
>;

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
    path: "/changelog.json",
    operationId: "getChangelogJson",
    summary: "Get the changes of the API as a JSON Feed",
    description: "The releases, newest first, in JSON Feed 1.1. Has an `ETag`.",
    responses: documentResponses(z.looseObject({ version: z.string(), items: z.array(z.looseObject({})) })),
  }),
  opsOperation({
    path: "/changelog.atom",
    operationId: "getChangelogAtom",
    summary: "Get the changes of the API as an Atom feed",
    description: "The same entries as `/changelog.json`. Has an `ETag`.",
    responses: { 200: responseOf("The feed.", "application/atom+xml", { schema: z.string() }) },
  }),
  opsOperation({
    path: "/docs",
    operationId: "getReferencePage",
    summary: "Open the reference page",
    description: "Interactive documentation of the partner API. The page loads nothing from other hosts.",
    responses: { 200: responseOf("The page.", "text/html", { schema: z.string() }) },
  }),
  opsOperation({
    path: "/sdk",
    operationId: "listSdkClients",
    summary: "List the clients and starter kits",
    description:
      "The TypeScript and Python clients of this version and of earlier releases, and one archive with all starter " +
      "kits, with checksums.",
    responses: {
      200: responseOf("The files.", "application/json", {
        schema: z.looseObject({
          clients: z.array(sdkClientSchema),
          older_clients: z
            .array(sdkClientSchema)
            .meta({ description: "Clients of earlier releases, newest first" }),
          // Absent if the site was not built.
          starter_kits: sdkFileSchema.optional(),
        }),
        example: {
          clients: [
            {
              language: "typescript",
              name: "@waymark/client",
              version: manifest.version,
              released: true,
              alias: SDK_ALIASES.typescript,
              file: sdkExampleFile,
              sha256: SDK_EXAMPLE_SHA256,
              size: 23167,
              url: sdkExampleUrl,
            },
          ],
          older_clients: [],
          starter_kits: {
            file: "waymark-starter-kits.tgz",
            sha256: "9f1c2a6be0d5437f8a9b6c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f60718293a4b5",
            size: 24310,
            url: "http://127.0.0.1:4000/sdk/waymark-starter-kits.tgz",
          },
        },
      }),
    },
  }),
  opsOperation({
    path: "/sdk/{name}",
    operationId: "getSdkFile",
    summary: "Download a client or the starter kits",
    description:
      "Returns a file of the list. With the suffix `.sha256` it returns the checksum in the format of `sha256sum`. " +
      "An alias redirects to the file. A released client never changes and stays after an upgrade.",
    request: {
      params: z.object({
        name: z.string().meta({
          description: "`file` or `alias` of the list, with or without `.sha256`",
          examples: [sdkExampleFile],
        }),
      }),
    },
    responses: {
      200: {
        description: "The file.",
        headers: headersWithEtag(
          "SHA-256, in quotes. Send it as `If-None-Match`.",
          `"${SDK_EXAMPLE_SHA256}"`,
        ),
        content: {
          "application/gzip": { schema: binaryFile },
          "application/zip": { schema: binaryFile },
          "text/plain": {
            schema: z.string(),
            example: `${SDK_EXAMPLE_SHA256}  ${sdkExampleFile}\n`,
          },
        },
      },
      302: { description: "The name is an alias.", headers: requestIdHeader },
      304: { description: "The file matches `If-None-Match`.", headers: requestIdHeader },
      404: {
        description: "There is no such file. The message names those of the same format.",
        headers: requestIdHeader,
        content: {
          "application/json": { schema: errorEnvelope, example: errorExample("NotFoundException") },
        },
      },
    },
  }),
];
