/** Holds answers of the API against the OpenAPI document: status, headers and body must be what it says. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";
import { AppError, errorCodes } from "../../../src/platform/errors.ts";
import { errorResponse } from "../../../src/http/v1/openapi/errors.ts";
import { headerComponents } from "../../../src/http/v1/openapi/headers.ts";
import { createOpenApiDocument, createOperationsDocument } from "../../../src/http/v1/openapi/documents.ts";

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
type PathItem = Partial<Record<"get" | "patch" | "post", Operation>>;

/** The parts of the document that tests look at. */
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

/** The two published documents. */
export const apiDocument = createOpenApiDocument(null) as unknown as ContractDocument;
export const operationsDocument = createOperationsDocument(null) as unknown as ContractDocument;

/** Both as one, with the paths of the server, and with the headers and schemas that only tests refer to. */
export const contract: ContractDocument = {
  ...apiDocument,
  paths: {
    ...Object.fromEntries(Object.entries(apiDocument.paths).map(([path, item]) => [`/v1${path}`, item])),
    ...operationsDocument.paths,
  },
  components: {
    ...apiDocument.components,
    headers: Object.fromEntries(headerComponents),
    schemas: { ...operationsDocument.components.schemas, ...apiDocument.components.schemas },
  },
};

/** The members that requests may have too: their objects stay open. */
const REQUEST_SCHEMAS = new Set(["JobPatch", "BatchItem", "BatchUpdate"]);

/** `schema` with every object closed: partners must accept a member that they don't know, our answers must not have one. */
function closeObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeObjects);
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).map(([name, value]) => [
    name,
    name === "examples" ? value : closeObjects(value),
  ]);
  const isObject = "properties" in schema && !("additionalProperties" in schema);
  return { ...Object.fromEntries(members), ...(isObject && { additionalProperties: false }) };
}

const strictSchemas = Object.fromEntries(
  Object.entries(contract.components.schemas).map(([name, schema]) => [
    name,
    REQUEST_SCHEMAS.has(name) ? schema : closeObjects(schema),
  ]),
);

/** Strict: an unknown keyword or format of a schema is an error, and what a schema does not allow is one too. */
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
addFormats.default(ajv);
// A response's schema refers to `#/components/schemas/…`, so that it is compiled with these beside it.
ajv.addVocabulary(["components", "x-extensible-enum", "x-enum-varnames"]);
const compiled = new Map<object, ValidateFunction>();

/** What `value` breaks of `schema`, a sentence for each rule; none: it fits. Throws for a schema that is none. */
export function schemaViolations(schema: object, value: unknown): string[] {
  const known = compiled.get(schema);
  const validate = known ?? ajv.compile({ components: { schemas: strictSchemas }, ...schema });
  compiled.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath || "/"} ${message} ${JSON.stringify(params)}`,
  );
}

/** What a reference names, or the thing itself. */
export function resolveReference<Thing extends object>(thing: Thing | Reference): Thing {
  if (!("$ref" in thing)) return thing;
  const found = thing.$ref
    .slice(2)
    .split("/")
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], contract);
  return found as Thing;
}

export interface CheckedResponse {
  status: number;
  headers: Headers;
  body: unknown;
}

/**
 * Fails unless the document tells of this answer. `path` is a path of the document or of a request. A path under `/v1`
 * that the document has not is held to the failures that any path can answer with; another one is none of its business.
 */
export function expectToMatchContract(method: string, path: string, answer: CheckedResponse): void {
  const item = findPath(path);
  if (!item && !/^\/v1(?![^/?])/.test(path)) return;
  const declared = findResponse(item, method, answer.status);
  const violations = declared
    ? [
        ...headerViolations(declared, answer.headers),
        ...bodyViolations(method, declared, answer),
        ...(/^\/v1(?![^/?])/.test(path) ? envelopeViolations(method, answer) : []),
      ]
    : [`status ${answer.status} is not declared`];
  expect(violations, `${method} ${path} → ${answer.status} is not as the OpenAPI document says`).toEqual([]);
}

function findResponse(item: PathItem | undefined, method: string, status: number): ResponseObject | null {
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  const operation = item?.[verb as keyof PathItem];
  const undocumentedStatuses = item ? [405] : [400, 404, 500, 503];
  if (!operation) return undocumentedStatuses.includes(status) ? errorResponseFor(status) : null;
  const response = operation.responses[status];
  return response ? resolveReference(response) : null;
}

/** The response of the error code with this status. */
function errorResponseFor(status: number): ResponseObject | null {
  const code = errorCodes.find((each) => new AppError(each, "").status === status);
  return code === undefined ? null : errorResponse(code);
}

/** As Express matches: a slash at the end does not count, and an empty Marking Number is still one. */
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

/** Declared headers that are missing or wrong, and headers of the document's that this response does not declare. */
function headerViolations(response: ResponseObject, headers: Headers): string[] {
  const declared = response.headers ?? {};
  const undeclared = Object.keys(contract.components.headers).filter(
    (name) => !(name in declared) && headers.has(name),
  );
  const wrong = Object.entries(declared).flatMap(([name, reference]) =>
    headerViolation(name, resolveReference(reference), headers.get(name)),
  );
  return [...undeclared.map((name) => `header ${name} is not declared`), ...wrong];
}

function headerViolation(name: string, { required, schema }: Header, text: string | null): string[] {
  if (text === null) return required ? [`header ${name} is missing`] : [];
  const value = schema.type === "integer" ? Number(text) : text;
  return schemaViolations(schema, value).map((breach) => `header ${name}: ${breach}`);
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

/** What the envelope's open members must hold: the document leaves `success` and `code` open for partners' clients. */
function envelopeViolations(method: string, { status, body }: CheckedResponse): string[] {
  if (method === "HEAD" || status === 304) return [];
  const { success, data, error } = body as {
    success: boolean;
    data: unknown;
    error: { code: string } | null;
  };
  if (status < 400)
    return success && error === null ? [] : ["a success must have success: true and error: null"];
  const expected = errorCodes.find((code) => new AppError(code, "").status === status);
  const isFailure = !success && data === null && error?.code === expected;
  return isFailure ? [] : [`a failure must have success: false, data: null and the code ${expected}`];
}
