/** The OpenAPI document of the partner API. */
import { OpenApiGeneratorV31, OpenAPIRegistry, type RouteConfig } from "@asteasolutions/zod-to-openapi";
import manifest from "../../../../package.json" with { type: "json" };
import { guideSectionOf } from "../../../guide/api.ts";
import { errorCodes } from "../../../core/errors.ts";
import { SIMULATE_HEADER, simulatedStatuses, SLOW } from "../../../test-mode/api.ts";
import { errorEnvelope, errorResponse, responseName } from "./errors.ts";
import { headerComponents } from "./headers.ts";
import { operationsOf } from "./operations.ts";
import { restOperations } from "../../../operations/all.ts";
import { describeOperation } from "./describe-operation.ts";
import { webhooks } from "./webhooks.ts";

export type OpenApiDocument = ReturnType<OpenApiGeneratorV31["generateDocument"]>;

const DESCRIPTION = `Waymark is the open API for delivery jobs: partner organizations list the jobs visible to them and
update them by Marking Number.

**Authentication.** Every request under \`/v1\` carries an API key, as \`x-api-key: KEY\` or as \`Authorization: Bearer KEY\`.
A key belongs to an agent or contractor organization and sees only the jobs of that organization. Its scopes are its
permissions; each operation names the scopes that it requires (\`x-required-scopes\`).

**Envelope.** Every response under \`/v1\` is \`{request_id, success, data, error}\`. An unknown path returns 404
(\`NotFoundException\`). A method that the path does not support returns 405 (\`MethodNotAllowedException\`, with
\`Allow\`). Every path with GET also supports HEAD.

**Rate limits.** Defaults per key: reads 50 a second (100 at once), single updates 25 a second (50 at once), batches 5 a
second (10 at once). The operator can change them. All keys of an organization together have four times these limits. The
headers \`RateLimit\`, \`RateLimit-Policy\` and \`X-RateLimit-*\` contain the limits and the remaining requests.

**New fields and codes.** Objects in responses and events may get new fields, and codes with \`x-extensible-enum\` may get
new values. The values in \`x-known-values\` are those of a new installation; others can exist. Requests are closed: the server
refuses values outside an \`enum\`, and unknown members where \`additionalProperties\` is false. Both may accept more later.

**Versions.** The version is the segment \`v1\` of the path. New fields, parameters, events and status codes can appear without
notice; ignore those that you don't know. We remove or rename nothing in v1 without a deprecation period of at least 12 months,
with the headers \`Deprecation\` (RFC 9745) and \`Sunset\` (RFC 8594). We never change the type or the meaning of a field.`;

/** The header is no parameter of the operations: generated clients would get it in every method. */
const TEST_DESCRIPTION = `Test mode, for keys that start with \`wmk_test_\`: test jobs, their runs, and events of any type.

**Simulated failures.** With a test key, every operation accepts the header \`${SIMULATE_HEADER}\`: ${simulatedStatuses.join(", ")}
returns this status as the real failure would, and \`410\` does so for the events feed. \`slow:3000\` waits that many milliseconds
(${SLOW.min} to ${SLOW.max}) before the request is handled. \`cut\` closes the connection instead, and \`cut_after\` closes it when the
request is applied, so that only the answer is lost. A simulated failure counts against the rate limit and, except after
\`cut_after\`, changes nothing. Another value returns 400. With other keys the header has no effect.`;

const apiConfig = {
  openapi: "3.1.0",
  info: {
    title: "Waymark API",
    summary: "List delivery jobs, update them by Marking Number and receive every change.",
    description: DESCRIPTION,
    version: manifest.version,
    license: { name: "MIT", identifier: "MIT" },
  },
  tags: [
    {
      name: "Jobs",
      description: "Delivery jobs: list them, read one, look up many, count them, update one or many.",
    },
    { name: "Events", description: "Changes of jobs. Poll them instead of using webhooks, or to catch up." },
    { name: "Reference", description: "Status codes and failure reasons." },
    { name: "Webhooks", description: "The same events, sent to your URL: endpoints and the delivery log." },
    { name: "Webhook events", description: "The requests that your URL receives." },
    { name: "Account", description: "Your organization, your limits and your requests." },
    { name: "API keys", description: "Keys of your organization: list, create, replace and revoke them." },
    { name: "Test", description: TEST_DESCRIPTION },
  ],
};

const apiRoutes = restOperations.map(describeOperation);

/** Returns the document of the partner API. If `baseUrl` (without a trailing slash) is null, its URLs are relative. */
export function createOpenApiDocument(baseUrl: string | null): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  registerComponents(registry);
  registerResponses(registry);
  for (const route of apiRoutes) registry.registerPath(withGuide(route, baseUrl));
  for (const webhook of webhooks) registry.registerWebhook(withGuide(webhook, baseUrl));
  const definitions = [{ type: "schema" as const, schema: errorEnvelope }, ...registry.definitions];
  const generator = new OpenApiGeneratorV31(definitions, { unionPreferredType: "oneOf" });
  const contact = { name: "The operator of this service", ...(baseUrl !== null && { url: baseUrl }) };
  const document = generator.generateDocument({
    ...apiConfig,
    tags: apiConfig.tags.map((tag) => ({ ...tag, ...guideLink(tag.name, baseUrl) })),
    info: { ...apiConfig.info, contact },
    servers: [{ url: `${baseUrl ?? ""}/v1` }],
  });
  closeRequests(document);
  return document;
}

function withGuide(route: RouteConfig, baseUrl: string | null): RouteConfig {
  return { ...route, ...guideLink(route.operationId ?? "", baseUrl) };
}

/** Returns `externalDocs` with the section of the guide that explains an operation or a tag. */
function guideLink(name: string, baseUrl: string | null) {
  const section = guideSectionOf(name);
  if (!section) return {};
  const description = section.heading === null ? "Guide" : `Guide: ${section.heading}`;
  return { externalDocs: { description, url: `${baseUrl ?? ""}/guide/${section.path}` } };
}

/** Registers the responses that operations refer to. Linters report components that no operation uses. */
function registerResponses(registry: OpenAPIRegistry): void {
  const used = new Set(
    apiRoutes.flatMap(({ responses }) =>
      Object.values(responses).map((response) => ("$ref" in response ? response.$ref : null)),
    ),
  );
  for (const code of errorCodes) {
    const name = responseName(code);
    if (used.has(`#/components/responses/${name}`))
      registry.registerComponent("responses", name, errorResponse(code));
  }
}

function registerComponents(registry: OpenAPIRegistry): void {
  registry.registerComponent("securitySchemes", "ApiKey", {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description:
      "An API key (`wmk_…`, or `wmk_test_…` for test data) from the Integrations section of the console.",
  });
  registry.registerComponent("securitySchemes", "Bearer", {
    type: "http",
    scheme: "bearer",
    description: "The same API key as a bearer token.",
  });
  // No operation declares 405, so linters would report `Allow` as unused.
  const headers = headerComponents.filter(([name]) => name !== "Allow");
  for (const [name, header] of headers) registry.registerComponent("headers", name, header);
}

type Node = Record<string, unknown>;

/**
 * Closes the lists of codes in requests, in place: the server refuses other codes. In responses and events they stay open, and share
 * no component with requests.
 */
function closeRequests({ paths = {}, components }: OpenApiDocument): void {
  const close = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const node = value as Node;
    const { $ref, "x-extensible-enum": codes } = node;
    if (typeof $ref === "string") close(components?.schemas?.[$ref.slice($ref.lastIndexOf("/") + 1)]);
    if (Array.isArray(codes)) closeCodes(node, codes as string[]);
    for (const member of Object.values(node)) close(member);
  };
  for (const { operation } of operationsOf<Node>(paths))
    close([operation["parameters"], operation["requestBody"]]);
}

function closeCodes(schema: Node, codes: readonly string[]): void {
  delete schema["x-extensible-enum"];
  schema["enum"] = [schema["type"]].flat().includes("null") ? [...codes, null] : [...codes];
  // Generators derive names from the values, which works only for identifiers.
  if (codes.some((code) => !/^\w+$/.test(code)))
    schema["x-enum-varnames"] = codes.map((code) => code.toUpperCase().replaceAll(/\W/g, "_"));
}
