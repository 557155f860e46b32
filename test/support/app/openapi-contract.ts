/** Checks the status, headers and body of responses against the OpenAPI document. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";
import { AppError, errorCodes } from "../../../src/core/errors.ts";
import { errorResponse } from "../../../src/api/rest/openapi/errors.ts";
import { headerComponents } from "../../../src/api/rest/openapi/headers.ts";
import { createOpenApiDocument } from "../../../src/api/rest/openapi/documents.ts";

interface Reference {
  $ref: string;
}
export interface MediaType {
  schema: object;
  example?: unknown;
  examples?: Record<string, { summary: string; value: unknown }>;
}
export interface Header {
  description: string;
  required: boolean;
  schema: { type: string };
  example: unknown;
}
export interface ResponseObject {
  description: string;
  headers?: Record<string, Header | Reference>;
  content?: Record<string, MediaType>;
}
export interface Parameter {
  name: string;
  in: string;
  description: string;
  required: boolean;
  schema: { examples?: unknown[]; default?: unknown; maximum?: number };
}
export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  "x-required-scopes"?: string[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<string, ResponseObject | Reference>;
}
type PathItem = Partial<Record<"get" | "patch" | "post" | "delete", Operation>>;

/** The parts of the document that tests read. */
export interface ContractDocument {
  info: { title: string; description: string; version: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, PathItem>;
  webhooks: Record<string, PathItem>;
  components: {
    schemas: Record<string, { properties?: Record<string, object>; required?: string[] }>;
    headers: Record<string, Header>;
    responses: Record<string, ResponseObject>;
    securitySchemes: Record<string, object>;
  };
}

/** The published document. */
export const apiDocument = createOpenApiDocument(null) as unknown as ContractDocument;

/** The document with full paths, and with the headers that only tests use. */
export const contract: ContractDocument = {
  ...apiDocument,
  paths: Object.fromEntries(Object.entries(apiDocument.paths).map(([path, item]) => [`/v1${path}`, item])),
  components: { ...apiDocument.components, headers: Object.fromEntries(headerComponents) },
};

/** Names of the components that requests refer to. */
export const requestSchemas: ReadonlySet<string> = namesIn(
  Object.values(apiDocument.paths).flatMap((item) =>
    Object.values(item).map(({ parameters, requestBody }) => [parameters, requestBody]),
  ),
);

/** Adds the components that `node` refers to, directly or not. */
function namesIn(node: unknown, names = new Set<string>()): Set<string> {
  if (typeof node !== "object" || node === null) return names;
  for (const value of Object.values(node)) namesIn(value, names);
  const name = "$ref" in node ? String(node.$ref).split("/").at(-1) : undefined;
  if (name === undefined || names.has(name)) return names;
  return namesIn(apiDocument.components.schemas[name], names.add(name));
}

/** Schemas of request bodies, which may have additional properties. */
const REQUEST_SCHEMAS = new Set(["JobPatch", "BatchItem", "BatchUpdate"]);

/**
 * Disallows additional properties in all objects, and codes other than those of today: responses must not have undocumented
 * ones. The published schemas are open.
 */
function closeSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeSchema);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, value]) => [
    name,
    name === "examples" ? value : closeSchema(value),
  ]);
  const isObject = "properties" in schema && !("additionalProperties" in schema);
  return {
    ...Object.fromEntries(entries),
    ...(isObject && { additionalProperties: false }),
    ...("x-extensible-enum" in schema && { enum: codesOf(schema as CodeSchema) }),
  };
}

interface CodeSchema {
  type: string | string[];
  "x-extensible-enum": string[];
}

/** The codes of today, and null if the schema allows it. */
function codesOf({ type, "x-extensible-enum": codes }: CodeSchema): (string | null)[] {
  return [type].flat().includes("null") ? [...codes, null] : codes;
}

const closedSchemas = Object.fromEntries(
  Object.entries(contract.components.schemas).map(([name, schema]) => [
    name,
    REQUEST_SCHEMAS.has(name) ? schema : closeSchema(schema),
  ]),
);

/** Returns one message per rule of `schema` that `value` violates. Throws if the schema is invalid. */
type FindViolations = (schema: object, value: unknown) => string[];

function violationsWith(schemas: object): FindViolations {
  /** In strict mode, unknown keywords and formats in a schema are errors. */
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  addFormats.default(ajv);
  // Response schemas refer to `#/components/schemas/…`, so each is compiled together with the components.
  ajv.addVocabulary([
    "components",
    "x-extensible-enum",
    "x-known-values",
    "x-comma-separated",
    "x-enum-varnames",
  ]);
  const compiled = new Map<object, ValidateFunction>();
  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile({ components: { schemas }, ...schema });
    compiled.set(schema, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || "/"} ${message} ${JSON.stringify(params)}`,
    );
  };
}

/** With the closed copy of the components. */
export const schemaViolations = violationsWith(closedSchemas);
/** With the components as they are published. */
export const publishedViolations = violationsWith(contract.components.schemas);

/** Returns the component that a reference names. Other values are returned unchanged. */
export function resolveReference<Component extends object>(value: Component | Reference): Component {
  if (!("$ref" in value)) return value;
  const component = value.$ref
    .slice(2)
    .split("/")
    .reduce<unknown>((parent, name) => (parent as Record<string, unknown>)[name], contract);
  return component as Component;
}

export interface CheckedResponse {
  status: number;
  headers: Headers;
  body: unknown;
}

/**
 * Fails if the response does not match the document. `path` is a path template or a request path. Undocumented paths may
 * return only general errors under `/v1`, and are not checked elsewhere.
 */
export function expectToMatchContract(method: string, path: string, response: CheckedResponse): void {
  const item = findPath(path);
  if (!item && !/^\/v1(?![^/?])/.test(path)) return;
  const declared = findResponse(item, method, response.status);
  const violations = declared
    ? [
        ...headerViolations(declared, response.headers),
        ...bodyViolations(method, declared, response),
        ...(/^\/v1(?![^/?])/.test(path) ? envelopeViolations(method, response) : []),
      ]
    : [`status ${response.status} is not declared`];
  expect(violations, `${method} ${path} → ${response.status} must match the OpenAPI document`).toEqual([]);
}

function findResponse(item: PathItem | undefined, method: string, status: number): ResponseObject | null {
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  const operation = item?.[verb as keyof PathItem];
  const undocumentedStatuses = item ? [405] : [400, 404, 500, 503];
  if (!operation) return undocumentedStatuses.includes(status) ? errorResponseFor(status) : null;
  const response = operation.responses[status];
  return response ? resolveReference(response) : null;
}

/** Returns the documented response of the error code with this status. */
function errorResponseFor(status: number): ResponseObject | null {
  const code = errorCodes.find((each) => new AppError(each, "").status === status);
  return code === undefined ? null : errorResponse(code);
}

/** Matches like Express: ignores a trailing slash and allows an empty Marking Number. */
function findPath(path: string): PathItem | undefined {
  const exact = contract.paths[path];
  if (exact) return exact;
  const { pathname } = new URL(`http://localhost${path}`);
  const templates = Object.keys(contract.paths);
  const matches = (parameter: string) => (template: string) =>
    new RegExp(`^${template.replaceAll(/\/\{\w+\}/g, parameter)}/?$`).test(pathname);
  const template = templates.find(matches("/[^/]+")) ?? templates.find(matches("(?:/)?"));
  return template === undefined ? undefined : contract.paths[template];
}

/** Reports declared headers that are missing or invalid, and documented headers that this response does not declare. */
function headerViolations(response: ResponseObject, headers: Headers): string[] {
  const declared = response.headers ?? {};
  const undeclared = Object.keys(contract.components.headers).filter(
    (name) => !(name in declared) && headers.has(name),
  );
  const invalid = Object.entries(declared).flatMap(([name, reference]) =>
    headerViolation(name, resolveReference(reference), headers.get(name)),
  );
  return [...undeclared.map((name) => `header ${name} is not declared`), ...invalid];
}

function headerViolation(name: string, { required, schema }: Header, text: string | null): string[] {
  if (text === null) return required ? [`header ${name} is missing`] : [];
  const value = schema.type === "integer" ? Number(text) : text;
  return schemaViolations(schema, value).map((violation) => `header ${name}: ${violation}`);
}

function bodyViolations(
  method: string,
  { content }: ResponseObject,
  { headers, body }: CheckedResponse,
): string[] {
  if (!content) return [];
  const type = headers.get("content-type")?.split(";", 1)[0] ?? "";
  const media = content[type];
  if (!media) return [`content type "${type}" is not declared`];
  return method === "HEAD" ? [] : schemaViolations(media.schema, body);
}

/** Checks `success` and `code`, whose values the document does not restrict. */
function envelopeViolations(method: string, { status, body }: CheckedResponse): string[] {
  if (method === "HEAD" || status === 304) return [];
  const { success, data, error } = body as {
    success: boolean;
    data: unknown;
    error: { code: string } | null;
  };
  if (status < 400)
    return success && error === null ? [] : ["a 2xx response must have success: true and error: null"];
  const expected = errorCodes.find((code) => new AppError(code, "").status === status);
  const isFailure = !success && data === null && error?.code === expected;
  return isFailure ? [] : [`an error response must have success: false, data: null and the code ${expected}`];
}
