/** The breaking changes from one OpenAPI document to another, each as a sentence that names the operation and the part. */
import { listSchemaChanges, type Direction, type JsonSchema } from "./json-schema-changes.ts";

interface Reference {
  $ref: string;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: JsonSchema;
}
interface Header {
  required?: boolean;
  schema: JsonSchema;
}
type Content = Record<string, { schema?: JsonSchema }>;
interface Response {
  headers?: Record<string, Header | Reference>;
  content?: Content;
}
interface Operation {
  operationId: string;
  parameters?: (Parameter | Reference)[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Response | Reference>;
  security?: Record<string, string[]>[];
  "x-required-scopes"?: string[];
}
type PathItems = Record<string, Record<string, Operation>>;

/** The parts of an OpenAPI 3.1 document that are compared. */
export interface ApiDocument {
  servers?: { url: string }[];
  paths?: PathItems;
  webhooks?: PathItems;
  components?: object;
}

interface Side {
  operation: Operation;
  resolve: <Component>(value: Component | Reference) => Component;
}

/** Returns the breaking changes from `released` to `current`. Additions are none. */
export function listApiChanges(released: ApiDocument, current: ApiDocument): string[] {
  const pathOf = ({ servers = [] }: ApiDocument): string =>
    new URL(servers[0]?.url ?? "/", "http://localhost").pathname;
  const [before, after] = [pathOf(released), pathOf(current)];
  return [
    ...(before === after ? [] : [`the path of the server URL changed from ${before} to ${after}`]),
    ...operationChanges({ released, current, part: "paths" }),
    ...operationChanges({ released, current, part: "webhooks" }),
  ];
}

interface Comparison {
  released: ApiDocument;
  current: ApiDocument;
  part: "paths" | "webhooks";
}

function operationChanges({ released, current, part }: Comparison): string[] {
  return Object.entries(released[part] ?? {}).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const name = part === "webhooks" ? `webhook ${path}` : `${method.toUpperCase()} ${path}`;
      const now = current[part]?.[path]?.[method];
      if (!now) return [`${name} was removed`];
      const before = { operation, resolve: resolverOf(released) };
      const after = { operation: now, resolve: resolverOf(current) };
      // Partners receive what a webhook sends, and its "responses" are what they may answer.
      if (part === "webhooks")
        return [
          ...nameChanges(before, after, name),
          ...parameterChanges(before, after, { name, direction: "response" }),
          ...bodyChanges(before, after, { name, direction: "response" }),
        ];
      return [
        ...nameChanges(before, after, name),
        ...accessChanges(before, after, name),
        ...parameterChanges(before, after, { name, direction: "request" }),
        ...bodyChanges(before, after, { name, direction: "request" }),
        ...responseChanges(before, after, name),
      ];
    }),
  );
}

function resolverOf(document: ApiDocument): Side["resolve"] {
  return <Component>(value: Component | Reference): Component => {
    if (typeof value !== "object" || value === null || !("$ref" in value)) return value;
    const keys = value.$ref.slice("#/".length).split("/");
    return keys.reduce<unknown>(
      (parent, key) => (parent as Record<string, unknown>)[key],
      document,
    ) as Component;
  };
}

/** Generated clients name their methods after `operationId`. */
function nameChanges({ operation: before }: Side, { operation: after }: Side, name: string): string[] {
  if (before.operationId === after.operationId) return [];
  return [`${name} changed operationId from ${before.operationId} to ${after.operationId}`];
}

function accessChanges({ operation: before }: Side, { operation: after }: Side, name: string): string[] {
  const scopesBefore = before["x-required-scopes"] ?? [];
  const scopes = (after["x-required-scopes"] ?? []).filter((scope) => !scopesBefore.includes(scope));
  const schemes = new Set((after.security ?? []).map((scheme) => JSON.stringify(scheme)));
  const lost = (before.security ?? []).filter((scheme) => !schemes.has(JSON.stringify(scheme)));
  return [
    ...scopes.map((scope) => `${name} now requires the scope ${scope}`),
    ...lost.map((scheme) => `${name} no longer accepts ${Object.keys(scheme).join(" with ")}`),
  ];
}

interface Part {
  name: string;
  direction: Direction;
}

function schemaChanges(
  [before, released]: [Side, JsonSchema],
  [after, current]: [Side, JsonSchema],
  part: Part,
): string[] {
  const resolve =
    (side: Side) =>
    ($ref: string): JsonSchema =>
      side.resolve<JsonSchema>({ $ref });
  return listSchemaChanges(
    { schema: released, resolve: resolve(before) },
    { schema: current, resolve: resolve(after) },
    part,
  );
}

function parameterChanges(before: Side, after: Side, { name, direction }: Part): string[] {
  const [old, now] = [parametersOf(before), parametersOf(after)];
  const kept = [...old].flatMap(([key, parameter]) => {
    const current = now.get(key);
    const path = `${name}: ${key}`;
    if (!current) return [`${path} was removed`];
    const isRequirement =
      direction === "request"
        ? current.required === true && parameter.required !== true
        : parameter.required === true && current.required !== true;
    const requirement = direction === "request" ? "is now required" : "may now be absent";
    return [
      ...(isRequirement ? [`${path} ${requirement}`] : []),
      ...schemaChanges([before, parameter.schema], [after, current.schema], { name: path, direction }),
    ];
  });
  const added =
    direction === "request"
      ? [...now].filter(([key, { required }]) => required === true && !old.has(key))
      : [];
  return [...kept, ...added.map(([key]) => `${name}: ${key} is new and required`)];
}

function parametersOf({ operation: { parameters = [] }, resolve }: Side): Map<string, Parameter> {
  return new Map(
    parameters.map((each) => {
      const parameter = resolve<Parameter>(each);
      return [`${parameter.in} parameter ${parameter.name}`, parameter];
    }),
  );
}

function bodyChanges(before: Side, after: Side, { name, direction }: Part): string[] {
  const [old, now] = [before.operation.requestBody, after.operation.requestBody];
  const path = `${name}: body`;
  if (!old) return now?.required === true ? [`${path} is now required`] : [];
  if (!now) return [`${path} was removed`];
  const isRequirement = direction === "request" && now.required === true && old.required !== true;
  return [
    ...(isRequirement ? [`${path} is now required`] : []),
    ...contentChanges([before, old.content], [after, now.content], { name: path, direction }),
  ];
}

function contentChanges([before, old]: [Side, Content], [after, now]: [Side, Content], part: Part): string[] {
  return Object.entries(old).flatMap(([type, { schema }]) => {
    const current = now[type];
    if (!current) return [`${part.name} is no longer ${type}`];
    if (!schema || !current.schema) return [];
    return schemaChanges([before, schema], [after, current.schema], part);
  });
}

/** A new status is an addition: clients treat an unknown one by its class. */
function responseChanges(before: Side, after: Side, name: string): string[] {
  return Object.entries(before.operation.responses).flatMap(([status, response]) => {
    const current = after.operation.responses[status];
    const path = `${name}: ${status}`;
    if (!current) return [`${path} was removed`];
    const [old, now] = [before.resolve<Response>(response), after.resolve<Response>(current)];
    return [
      ...headerChanges([before, old], [after, now], path),
      ...contentChanges([before, old.content ?? {}], [after, now.content ?? {}], {
        name: path,
        direction: "response",
      }),
    ];
  });
}

function headerChanges(
  [before, old]: [Side, Response],
  [after, now]: [Side, Response],
  name: string,
): string[] {
  return Object.entries(old.headers ?? {}).flatMap(([header, value]) => {
    const current = now.headers?.[header];
    const path = `${name} header ${header}`;
    if (!current) return [`${path} was removed`];
    const [released, present] = [before.resolve<Header>(value), after.resolve<Header>(current)];
    const isAbsent = released.required === true && present.required !== true;
    return [
      ...(isAbsent ? [`${path} may now be absent`] : []),
      ...schemaChanges([before, released.schema], [after, present.schema], {
        name: path,
        direction: "response",
      }),
    ];
  });
}
