/** A Postman collection (format 2.1), which Bruno, Insomnia and Hoppscotch can import too, from the OpenAPI document. */
import { createOpenApiDocument } from "../v1/openapi/documents.ts";
import { operationsOf } from "../v1/openapi/operations.ts";

const SCHEMA_URL = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

interface Example {
  summary?: string;
  value: unknown;
}
interface Content {
  content?: { "application/json"?: { examples?: Record<string, Example> } };
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: { description?: string; examples?: (string | number | boolean | string[])[] };
}
interface Operation {
  summary: string;
  description: string;
  tags: string[];
  externalDocs: { url: string };
  parameters?: Parameter[];
  requestBody?: Content;
  responses: Record<string, Content & { description?: string }>;
}

interface Pair {
  key: string;
  value: string;
  description?: string;
  disabled?: true;
}

/**
 * Returns the collection: a folder for each tag with a request for each operation, and for each example of its body.
 * `baseUrl` is the value of the variable of that name.
 */
export function createPostmanCollection(baseUrl: string): object {
  const document = createOpenApiDocument(baseUrl);
  const operations = operationsOf<Operation>(document.paths);
  const requests = operations.flatMap(({ method, path, operation }) =>
    bodiesOf(operation).map((body) => ({
      tag: operation.tags[0],
      request: toItem({ method, path, operation, body }),
    })),
  );
  const folders = (document.tags ?? []).map(({ name, description = "" }) => ({
    name,
    description,
    item: requests.filter(({ tag }) => tag === name).map(({ request }) => request),
  }));
  return {
    info: {
      name: document.info.title,
      description: `${document.info.description ?? ""}\n\n[Guide](${baseUrl}/guide/)`,
      schema: SCHEMA_URL,
    },
    auth: {
      type: "apikey",
      apikey: Object.entries({ key: "x-api-key", value: "{{apiKey}}", in: "header" }).map(([key, value]) => ({
        key,
        value,
        type: "string",
      })),
    },
    variable: Object.entries({
      baseUrl,
      apiKey: "",
      ...Object.fromEntries(operations.flatMap(({ path, operation }) => pathVariables(path, operation))),
    }).map(([key, value]) => ({ key, value })),
    // Webhooks are no requests to make.
    item: folders.filter(({ item }) => item.length > 0),
  };
}

/** Path parameters are variables of the collection, so that a reader sets each only once. */
function pathVariables(path: string, { parameters = [] }: Operation): [string, string][] {
  return parameters
    .filter((each) => each.in === "path")
    .map((each) => [variableName(path, each.name), toPair(each).value]);
}

/**
 * Returns `webhookEndpointId` for `id` in `/webhook-endpoints/{id}/pause`, because other objects have an `id` too. Test jobs have
 * other Marking Numbers than live ones.
 */
function variableName(path: string, parameter: string): string {
  if (path.includes("/test/") && parameter === "markingNumber") return "testMarkingNumber";
  const [, collection] = /\/([a-z-]+)\/\{id\}/.exec(path) ?? [];
  if (parameter !== "id" || collection === undefined) return parameter;
  const singular = collection.replace(/ies$/, "y").replace(/s$/, "");
  return `${singular.replaceAll(/-([a-z])/g, (_all, letter: string) => letter.toUpperCase())}Id`;
}

/** Returns the examples of the body; a null if the operation has no body. */
function bodiesOf({ requestBody }: Operation): (Example | null)[] {
  return requestBody === undefined ? [null] : examplesIn(requestBody);
}

function examplesIn({ content }: Content): Example[] {
  return Object.values(content?.["application/json"]?.examples ?? {});
}

interface ItemInput {
  method: string;
  path: string;
  operation: Operation;
  body: Example | null;
}

function toItem({ method, path, operation, body }: ItemInput) {
  const { summary, description, externalDocs, parameters = [] } = operation;
  const pairsOf = (place: string): Pair[] => parameters.filter((each) => each.in === place).map(toPair);
  const segments = ["v1", ...path.split("/").slice(1)].map((segment) =>
    segment.replace(/^\{(\w+)\}$/, ":$1"),
  );
  const request = {
    method,
    header: [...(body ? [{ key: "Content-Type", value: "application/json" }] : []), ...pairsOf("header")],
    url: {
      raw: `{{baseUrl}}/${segments.join("/")}`,
      host: ["{{baseUrl}}"],
      path: segments,
      query: pairsOf("query"),
      variable: pairsOf("path").map(({ key, description: text }) => ({
        key,
        value: `{{${variableName(path, key)}}}`,
        description: text,
      })),
    },
    ...(body && { body: jsonBody(body.value) }),
    description: `${description}\n\n[Guide](${externalDocs.url})`,
  };
  const hasChoice = bodiesOf(operation).length > 1;
  const code = "201" in operation.responses ? 201 : 200;
  return {
    name: hasChoice ? `${summary}: ${body?.summary ?? ""}` : summary,
    request,
    response: examplesIn(operation.responses[code] ?? {}).map((example) => ({
      name: example.summary ?? "OK",
      originalRequest: request,
      status: code === 201 ? "Created" : "OK",
      code,
      header: [{ key: "Content-Type", value: "application/json" }],
      body: JSON.stringify(example.value, null, 2),
    })),
  };
}

/** Optional parameters are off: their examples only show the format, and some exclude each other. */
function toPair({ name, required = false, description, schema }: Parameter): Pair {
  return {
    key: name,
    value: [schema?.examples?.[0] ?? ""].flat().join(","),
    description: description ?? schema?.description ?? "",
    ...(!required && { disabled: true }),
  };
}

function jsonBody(value: unknown) {
  return { mode: "raw", raw: JSON.stringify(value, null, 2), options: { raw: { language: "json" } } };
}
