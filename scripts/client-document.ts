/** Reads the OpenAPI document for the generators of the clients. */
import { isDeepStrictEqual } from "node:util";
import { createOpenApiDocument } from "../src/api/rest/openapi/documents.ts";

/** The part of JSON Schema that the document uses (decision 0055). */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  /** With null if the value can be null. */
  enum?: (string | null)[];
  "x-extensible-enum"?: string[];
  /** Values of a new installation; any other is valid too. */
  "x-known-values"?: string[];
  /** A text that can be several values, separated by commas. */
  "x-comma-separated"?: boolean;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  /** A union of a reference and null. */
  oneOf?: Schema[];
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  deprecated?: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  content?: Record<string, { schema: Schema }>;
}

interface DocumentOperation {
  operationId: string;
  summary: string;
  description: string;
  tags: [string];
  deprecated?: boolean;
  parameters?: Parameter[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content>;
  "x-required-scopes": string[];
}

interface Document {
  info: { version: string };
  tags: ApiDocument["tags"];
  paths: Record<string, Record<string, DocumentOperation>>;
  components: { schemas: ApiDocument["schemas"] };
}

export interface ApiOperation {
  id: string;
  /** In capitals. */
  method: string;
  /** Below `/v1`, with path parameters in braces. */
  path: string;
  tag: string;
  summary: string;
  description: string;
  isDeprecated: boolean;
  parameters: readonly Parameter[];
  body: { schema: Schema; isRequired: boolean } | null;
  /** `data` in the envelope of a successful response. */
  data: Schema;
  /** True if the operation changes nothing, so that it can be repeated. */
  isRead: boolean;
  /** True if it accepts an Idempotency-Key. */
  takesKey: boolean;
}

export interface ApiDocument {
  version: string;
  tags: readonly { name: string; description: string }[];
  schemas: Readonly<Record<string, Schema>>;
  operations: readonly ApiOperation[];
}

/** Schemas that have all members of another: a value of the first can be used as one of the second. */
const EXTENDS: Readonly<Record<string, string>> = {
  WebhookDeliveryDetail: "WebhookDelivery",
};

/** Returns the name of the schema that `name` extends, and the members that only `name` has. Null if it extends none. */
export function extensionOf(
  name: string,
  schemas: ApiDocument["schemas"],
): { base: string; own: Record<string, Schema> } | null {
  const base = EXTENDS[name];
  if (base === undefined) return null;
  const [all, shared] = [schemas[name], schemas[base]];
  const isSame = (member: string): boolean =>
    isDeepStrictEqual(all?.properties?.[member], shared?.properties?.[member]) &&
    all?.required?.includes(member) === shared?.required?.includes(member);
  const different = Object.keys(shared?.properties ?? {}).find((member) => !isSame(member));
  if (different !== undefined) throw new Error(`${name} can't extend ${base}: ${different} is different`);
  const own = Object.entries(all?.properties ?? {}).filter(([member]) => !shared?.properties?.[member]);
  return { base, own: Object.fromEntries(own) };
}

export function readApiDocument(): ApiDocument {
  const { info, tags, paths, components } = createOpenApiDocument(null) as unknown as Document;
  const { schemas } = components;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(method, path, operation, schemas)),
  );
  return { version: info.version, tags, schemas, operations };
}

function readOperation(
  method: string,
  path: string,
  operation: DocumentOperation,
  schemas: ApiDocument["schemas"],
): ApiOperation {
  const { parameters = [], requestBody, "x-required-scopes": scopes } = operation;
  const body = jsonSchema(requestBody);
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    tag: operation.tags[0],
    summary: operation.summary,
    description: operation.description,
    isDeprecated: operation.deprecated ?? false,
    parameters,
    body: body ? { schema: body, isRequired: requestBody?.required ?? false } : null,
    data: dataOf(operation, schemas),
    // A POST that needs only scopes for reading is a query with a body.
    isRead: method === "get" || (scopes.length > 0 && scopes.every((scope) => scope.endsWith(":read"))),
    takesKey: parameters.some(({ name }) => name === "Idempotency-Key"),
  };
}

const jsonSchema = (content: Content | undefined): Schema | undefined =>
  content?.content?.["application/json"]?.schema;

function dataOf({ operationId, responses }: DocumentOperation, schemas: ApiDocument["schemas"]): Schema {
  const success = Object.entries(responses).find(([status]) => /^2\d\d$/.test(status))?.[1];
  const data = resolveSchema(jsonSchema(success) ?? {}, schemas).properties?.["data"];
  if (!data) throw new Error(`The response of ${operationId} is not an envelope`);
  return data;
}

/** Returns the schema that a reference names, and any other schema as it is. */
export function resolveSchema(schema: Schema, schemas: ApiDocument["schemas"]): Schema {
  if (schema.$ref === undefined) return schema;
  const target = schemas[refName(schema.$ref)];
  if (!target) throw new Error(`Unknown schema ${schema.$ref}`);
  return target;
}

export function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** Returns the texts that a value can be; undefined if the list is not closed. */
export function closedValuesOf({ enum: values }: Schema): string[] | undefined {
  return values?.filter((value) => value !== null);
}

/** Returns the types of a value, such as `["string", "null"]`. Empty if it can be any JSON value. */
export function typesOf({ type = [] }: Schema): readonly string[] {
  return [type].flat();
}
