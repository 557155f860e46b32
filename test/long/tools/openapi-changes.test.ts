/** The comparison of OpenAPI documents: every kind of breaking change, at every place of the document, and every addition. */
import { describe, expect, it } from "vitest";
import {
  listSchemaChanges,
  type Direction,
  type JsonSchema,
} from "../../../scripts/releases/json-schema-changes.ts";
import { listApiChanges, type ApiDocument } from "../../../scripts/releases/openapi-changes.ts";
import { currentSnapshot } from "../../../scripts/releases/snapshots.ts";

const document = currentSnapshot()["openapi.json"];

/** Values that tests change. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests change any part of the document
type Json = any;

interface Place {
  path: string[];
  value: Json;
}

/** Returns every object of the document that `matches`, without examples. */
function placesOf(matches: (place: Place) => boolean): Place[] {
  const visit = (value: Json, path: string[]): Place[] => {
    if (typeof value !== "object" || value === null) return [];
    const inside = Object.entries(value)
      .filter(([key]) => key !== "examples" && key !== "example")
      .flatMap(([key, child]) => visit(child, [...path, key]));
    return [...(matches({ path, value }) ? [{ path, value }] : []), ...inside];
  };
  return visit(document, []);
}

/** Returns the breaking changes after `change` of the object at `path`. */
function changesAfter({ path }: Place, change: (value: Json) => void): string[] {
  const before = partOf(path);
  return listApiChanges(before, changedAt(before, path, change));
}

const partsBySchema = new Map<string, Json>();

/** Returns the document with only the operations that a change at `path` affects: comparing all of them each time takes minutes. */
function partOf([part, kind = "", name = ""]: string[]): Json {
  const { paths = {}, webhooks: events = {} } = document as Json;
  if (part === "paths" && kind !== "") return { ...document, paths: { [kind]: paths[kind] }, webhooks: {} };
  if (part !== "components" || kind !== "schemas") return document;
  const known = partsBySchema.get(name);
  if (known) return known;
  const firstUser = (items: Json, side: string): [string, Json][] =>
    Object.entries<Json>(items)
      .filter(([, item]) => schemasIn(Object.values<Json>(item).map((each) => each[side])).has(name))
      .slice(0, 1);
  const users = [...firstUser(paths, "requestBody"), ...firstUser(paths, "responses")];
  const result = {
    ...document,
    paths: Object.fromEntries(users),
    webhooks: Object.fromEntries(firstUser(events, "requestBody")),
  };
  partsBySchema.set(name, result);
  return result;
}

/** Returns a copy in which the object at `path` is changed. Everything beside the path is shared. */
function changedAt(value: Json, [key, ...rest]: string[], change: (value: Json) => void): Json {
  if (key === undefined) {
    const copy = structuredClone(value);
    change(copy);
    return copy;
  }
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = changedAt(value[key], rest, change);
  return copy;
}

const operations = placesOf(({ path }) => path.length === 3 && path[0] === "paths");
const webhooks = placesOf(({ path }) => path.length === 2 && path[0] === "webhooks");
const parameters = operations.flatMap(({ path, value }) =>
  (value.parameters ?? []).map((parameter: Json, index: number) => ({
    path: [...path, "parameters", String(index)],
    value: parameter,
  })),
);
const objects = placesOf(({ value }) => value.properties !== undefined && value.type === "object");
const schemasOfRequests = schemasIn(operations.map(({ value }) => value.requestBody));
const schemasOfResponses = schemasIn([...operations.map(({ value }) => value.responses), document.webhooks]);
const requestObjects = objects.filter(({ path }) => schemasOfRequests.has(path[2] ?? ""));
const responseObjects = objects.filter(
  ({ path }) => path[1] === "schemas" && schemasOfResponses.has(path[2] ?? ""),
);

/** Returns the names of the schemas that `value` refers to, also through others. */
function schemasIn(value: Json, found = new Set<string>()): Set<string> {
  if (typeof value !== "object" || value === null) return found;
  const [, kind = "", name = ""] = /^#\/components\/(\w+)\/(.*)$/.exec(value.$ref ?? "") ?? [];
  if (kind !== "" && !found.has(name)) {
    if (kind === "schemas") found.add(name);
    schemasIn((document as Json).components[kind][name], found);
  }
  for (const child of Object.values(value)) schemasIn(child, found);
  return found;
}

/** Returns the status of the operation's success. */
function successOf({ responses }: Json): string {
  return Object.keys(responses).find((status) => status.startsWith("2")) ?? "";
}

it("finds the places to change", () => {
  expect(operations.length).toBeGreaterThan(7);
  expect(webhooks.length).toBeGreaterThan(4);
  expect(parameters.length).toBeGreaterThan(20);
  expect(requestObjects.length).toBeGreaterThan(2);
  expect(responseObjects.length).toBeGreaterThan(15);
});

describe("a breaking change is named", () => {
  it("if an operation is removed", () => {
    for (const { path } of operations) {
      const [, route = "", method = ""] = path;
      const changes = changesAfter({ path: ["paths", route], value: null }, (item) => delete item[method]);
      expect(changes).toEqual([`${method.toUpperCase()} ${route} was removed`]);
    }
  });

  it("if a webhook is removed", () => {
    for (const { path } of webhooks) {
      const changes = changesAfter({ path: ["webhooks"], value: null }, (all) => delete all[path[1] ?? ""]);
      expect(changes).toEqual([`webhook ${path[1]} was removed`]);
    }
  });

  it("if a parameter is removed", () => {
    for (const { path, value } of parameters) {
      const list = { path: path.slice(0, -1), value: null };
      const changes = changesAfter(list, (all) => all.splice(Number(path.at(-1)), 1));
      expect(changes).toEqual([expect.stringContaining(`${value.in} parameter ${value.name} was removed`)]);
    }
  });

  it("if an optional parameter becomes required", () => {
    for (const place of parameters.filter(({ value }: Place) => value.required !== true)) {
      const changes = changesAfter(place, (parameter) => (parameter.required = true));
      expect(changes).toEqual([expect.stringContaining(`${place.value.name} is now required`)]);
    }
  });

  it("if a parameter changes its type, or gets a stricter limit", () => {
    for (const place of parameters) {
      expect(changesAfter(place, ({ schema }) => (schema.type = "null"))).toContainEqual(
        expect.stringContaining(`${place.value.name} changed type`),
      );
      expect(changesAfter(place, ({ schema }) => (schema.maxLength = 0))).toEqual([
        expect.stringContaining(`${place.value.name} changed maxLength`),
      ]);
    }
  });

  it("if a required parameter or a new scope is added", () => {
    for (const place of operations) {
      const added = { name: "x-reason", in: "header", required: true, schema: { type: "string" } };
      expect(changesAfter(place, (each) => (each.parameters ??= []).push(added))).toEqual([
        expect.stringContaining("header parameter x-reason is new and required"),
      ]);
      expect(changesAfter(place, (each) => each["x-required-scopes"].push("more"))).toEqual([
        expect.stringContaining("now requires the scope more"),
      ]);
      expect(changesAfter(place, (each) => (each.operationId = "renamed"))).toEqual([
        expect.stringContaining("changed operationId"),
      ]);
      expect(changesAfter(place, (each) => each.security.pop())).toEqual([
        expect.stringContaining("no longer accepts"),
      ]);
    }
  });

  it("if a field of a request is removed, becomes required or changes its type", () => {
    for (const place of requestObjects) {
      for (const field of Object.keys(place.value.properties)) {
        const removed = changesAfter(place, ({ properties }) => delete properties[field]);
        expect(removed).toContainEqual(expect.stringContaining(`${field} was removed`));
        const isRequired = (place.value.required ?? []).includes(field);
        const required = changesAfter(place, (schema) => (schema.required ??= []).push(field));
        expect(required.some((text) => text.includes(`${field} is now required`))).toBe(!isRequired);
        const retyped = changesAfter(place, ({ properties }) => (properties[field] = { type: "null" }));
        expect(retyped).toContainEqual(expect.stringContaining(`${field} changed type`));
      }
    }
  });

  it("if a field of a response is removed, may be absent or changes its type", () => {
    for (const place of responseObjects) {
      for (const field of Object.keys(place.value.properties)) {
        const removed = changesAfter(place, ({ properties }) => delete properties[field]);
        expect(removed).toContainEqual(expect.stringContaining(`${field} was removed`));
        const isRequired = (place.value.required ?? []).includes(field);
        const optional = changesAfter(place, (schema) => {
          schema.required = (schema.required ?? []).filter((name: string) => name !== field);
        });
        expect(optional.some((text) => text.includes(`${field} may now be absent`))).toBe(isRequired);
      }
    }
    const widened = responseObjects.flatMap((place) =>
      Object.entries<Json>(place.value.properties)
        .filter(([, { type }]) => type !== undefined)
        .map(([field]) => changesAfter(place, ({ properties }) => delete properties[field].type)),
    );
    expect(widened.every((changes) => changes.some((text) => text.includes("changed type")))).toBe(true);
  });

  it("if a status or a header of a response is removed", () => {
    for (const place of operations) {
      for (const status of Object.keys(place.value.responses)) {
        const changes = changesAfter(place, ({ responses }) => delete responses[status]);
        expect(changes).toEqual([expect.stringContaining(`: ${status} was removed`)]);
      }
      const success = successOf(place.value);
      for (const header of Object.keys(place.value.responses[success].headers)) {
        const changes = changesAfter(place, ({ responses }) => delete responses[success].headers[header]);
        expect(changes).toEqual([expect.stringContaining(`${success} header ${header} was removed`)]);
      }
    }
  });

  it("if a code of an open list is removed", () => {
    const codes = placesOf(
      ({ value }) => value["x-extensible-enum"] !== undefined && value.type === "string",
    );
    expect(codes.length).toBeGreaterThan(5);
    for (const place of codes) {
      const [code] = place.value["x-extensible-enum"];
      const changes = changesAfter(place, (schema) => schema["x-extensible-enum"].shift());
      expect(changes).toContainEqual(expect.stringContaining(`lost the code ${code}`));
    }
  });

  it("if the path of the server changes", () => {
    const moved = { ...document, servers: [{ url: "/v2" }] } as ApiDocument;
    expect(listApiChanges(document, moved)).toEqual(["the path of the server URL changed from /v1 to /v2"]);
  });
});

describe("an addition passes", () => {
  it.each<[string, readonly Place[], (value: Json) => void]>([
    ["a new operation", [{ path: ["paths"], value: null }], (paths) => (paths["/new"] = { get: {} })],
    ["a new webhook", [{ path: ["webhooks"], value: null }], (all) => (all["job.new"] = { post: {} })],
    [
      "an optional parameter",
      operations,
      (each) => (each.parameters ??= []).push({ name: "new", in: "query", schema: { type: "string" } }),
    ],
    ["a parameter that becomes optional", parameters, (parameter) => (parameter.required = false)],
    ["an optional field of a request", requestObjects, (schema) => (schema.properties.new_one = {})],
    ["a field of a response", responseObjects, (schema) => (schema.properties.new_one = { type: "string" })],
    [
      "a new code",
      placesOf(({ value }) => value["x-extensible-enum"] !== undefined && value.type === "string"),
      (schema) => schema["x-extensible-enum"].push("new_code"),
    ],
    ["a new status", operations, (each) => (each.responses["418"] = { description: "New" })],
    [
      "a new header of a response",
      operations,
      (each) => (each.responses[successOf(each)].headers["X-New"] = { schema: { type: "string" } }),
    ],
    ["a deprecation", operations, (each) => (each.deprecated = true)],
    ["other texts", operations, (each) => (each.description = each.summary = "Other")],
  ])("%s", (_kind, places, change) => {
    expect(places.length).toBeGreaterThan(0);
    for (const place of places) expect(changesAfter(place, change)).toEqual([]);
  });
});

describe("a change of a schema", () => {
  it.each<[string, Direction, JsonSchema, JsonSchema, string[]]>([
    [
      "a closed list loses a value",
      "request",
      { enum: ["a", "b"] },
      { enum: ["a"] },
      ["x no longer accepts b"],
    ],
    ["a closed list gets a value", "request", { enum: ["a"] }, { enum: ["a", "b"] }, []],
    ["a closed list gets a value", "response", { enum: ["a"] }, { enum: ["a", "b"] }, ["x may now be b"]],
    ["a closed list loses a value", "response", { enum: ["a", "b"] }, { enum: ["a"] }, []],
    ["a list becomes closed", "request", {}, { enum: ["a"] }, ["x no longer accepts values outside a"]],
    ["a list becomes open", "response", { const: "a" }, {}, ["x may now be values outside a"]],
    [
      "null is refused",
      "request",
      { type: ["string", "null"] },
      { type: "string" },
      ["x changed type from string or null to string"],
    ],
    [
      "null is added",
      "response",
      { type: "string" },
      { type: ["string", "null"] },
      ["x changed type from string to string or null"],
    ],
    ["null is added", "request", { type: "string" }, { type: ["string", "null"] }, []],
    ["whole numbers become numbers", "request", { type: "integer" }, { type: "number" }, []],
    [
      "whole numbers become numbers",
      "response",
      { type: "integer" },
      { type: "number" },
      ["x changed type from integer to number"],
    ],
    ["a format is lost", "response", { format: "date" }, {}, ["x changed format from date to none"]],
    ["a format is added", "request", {}, { format: "date" }, ["x changed format from none to date"]],
    ["a minimum rises", "request", { minimum: 1 }, { minimum: 2 }, ["x changed minimum from 1 to 2"]],
    ["a maximum falls", "request", { maximum: 9 }, { maximum: 8 }, ["x changed maximum from 9 to 8"]],
    ["a maximum rises", "request", { maximum: 8 }, { maximum: 9 }, []],
    ["a pattern is added", "request", {}, { pattern: "^a" }, ['x changed pattern from none to "^a"']],
    ["a default changes", "request", { default: 10 }, { default: 20 }, ["x changed default from 10 to 20"]],
    [
      "other members are refused",
      "request",
      {},
      { additionalProperties: false },
      ["x no longer allows other members"],
    ],
    [
      "an item changes",
      "response",
      { items: { type: "string" } },
      { items: { type: "null" } },
      ["x[] changed type from string to null"],
    ],
    [
      "an alternative is lost",
      "request",
      { oneOf: [{ type: "string" }, { type: "null" }] },
      { oneOf: [{ type: "null" }] },
      ["x no longer accepts one of its alternatives"],
    ],
    [
      "an alternative is added",
      "response",
      { oneOf: [{ type: "null" }] },
      { oneOf: [{ type: "string" }, { type: "null" }] },
      ["x has a new alternative"],
    ],
    [
      "allOf is written out",
      "request",
      { allOf: [{ properties: { a: {} } }] },
      { properties: { a: {} } },
      [],
    ],
  ])("%s in a %s", (...[, direction, before, after, expected]) => {
    const changes = listSchemaChanges(
      { schema: before, resolve: () => before },
      { schema: after, resolve: () => after },
      { direction, name: "x" },
    );
    expect(changes).toEqual(expected);
  });
});
