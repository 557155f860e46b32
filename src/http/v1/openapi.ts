/** The OpenAPI document: put together from the operations, whose schemas are those that check requests. */
import { OpenApiGeneratorV31, OpenAPIRegistry } from "@asteasolutions/zod-to-openapi";
import { failureResponse, failureSchemas, errorCodes, responseName } from "./openapi.failures.ts";
import { listEvents, listFailureReasons, listStatuses } from "./openapi.feeds.ts";
import { headerComponents } from "./openapi.headers.ts";
import { findJob, jobHistory, listJobs, updateJob, updateJobs } from "./openapi.jobs.ts";
import { opsOperations } from "./openapi.ops.ts";
import { webhooks } from "./openapi.webhooks.ts";

export type OpenApiDocument = ReturnType<OpenApiGeneratorV31["generateDocument"]>;

const DESCRIPTION = `Waymark is the open API for delivery jobs: partner organizations list the jobs that they may see and
update them by Marking Number.

**Authentication.** Every request under \`/v1\` carries an API key, as \`x-api-key: KEY\` or as \`Authorization: Bearer KEY\`.
A key belongs to an agent or a contractor organization and sees the jobs of that organization, nothing else. What a key
may do is told by its scopes: \`jobs:read\` and \`jobs:write\`.

**Envelope.** Every answer under \`/v1\`, success or failure, is \`{request_id, success, data, error}\`. A path that does not
exist is 404 (\`NotFoundException\`), one that is asked with a method that it does not have is 405
(\`MethodNotAllowedException\`, with \`Allow\`). Every path that has GET has HEAD.

**Rate limits.** Per key: reads 50 a second (100 at once), single updates 25 a second (50 at once), batches 5 a second
(10 at once), unless the operator set others. \`RateLimit\`, \`RateLimit-Policy\` and \`X-RateLimit-*\` tell what is left.

**Versions.** The version is the segment \`v1\` of the path. v1 changes only by addition: new fields, parameters, events and
status codes are additions, so be ready to meet what you do not know. Whatever is to go is announced with the headers
\`Deprecation\` (RFC 9745) and \`Sunset\` (RFC 8594) at least 12 months ahead.`;

const config = {
  openapi: "3.1.0",
  info: {
    title: "Waymark API",
    summary: "List delivery jobs, update them by Marking Number, be told of every change.",
    description: DESCRIPTION,
    version: "1.0.0",
    license: { name: "MIT", identifier: "MIT" },
  },
  security: [{ ApiKey: [] }, { Bearer: [] }],
  tags: [
    { name: "Jobs", description: "Delivery jobs: list them, read one, update one or many." },
    { name: "Events", description: "What happened to jobs, to poll instead of webhooks or to catch up." },
    { name: "Reference", description: "The codes that fields hold." },
    {
      name: "Operation",
      description: "For those who run the service. No key is asked for, and there is no envelope.",
    },
    { name: "Webhooks", description: "The same events, sent to an address of yours." },
  ],
};

/** The document for a service at `publicUrl`; null: the server that answers with it. */
export function createOpenApiDocument(publicUrl: string | null): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  registerComponents(registry);
  const jobs = [listJobs, updateJobs, findJob, updateJob, jobHistory];
  for (const route of [...jobs, listEvents, listStatuses, listFailureReasons, ...opsOperations])
    registry.registerPath(route);
  for (const webhook of webhooks) registry.registerWebhook(webhook);
  const schemas = failureSchemas.map((schema) => ({ type: "schema" as const, schema }));
  const generator = new OpenApiGeneratorV31([...registry.definitions, ...schemas], {
    unionPreferredType: "oneOf",
  });
  return generator.generateDocument({ ...config, servers: [{ url: publicUrl ?? "/" }] });
}

function registerComponents(registry: OpenAPIRegistry): void {
  registry.registerComponent("securitySchemes", "ApiKey", {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "An API key (`wmk_…`) from the Integrations section of the console.",
  });
  registry.registerComponent("securitySchemes", "Bearer", {
    type: "http",
    scheme: "bearer",
    description: "The same API key as a bearer token.",
  });
  for (const [name, header] of headerComponents) registry.registerComponent("headers", name, header);
  for (const code of errorCodes)
    registry.registerComponent("responses", responseName(code), failureResponse(code));
}
