/** Structural rules that keep the document usable by client generators; `npx node scripts/check-clients.ts` runs the generators. */
import { describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { apiDocument, requestSchemas, type Operation } from "../support/app/openapi-contract.ts";

type Node = Record<string, unknown>;

/** The path of each object below `at` that `matches`. */
function find(index: unknown, matches: (node: Node, path: string) => boolean, path = ""): string[] {
  if (typeof index !== "object" || index === null) return [];
  const node = index as Node;
  const own = !Array.isArray(index) && matches(node, path) ? [path] : [];
  const below = Object.entries(node)
    .filter(([name]) => !["example", "examples", "value"].includes(name))
    .flatMap(([name, value]) => find(value, matches, `${path}/${name.replaceAll("/", "~1")}`));
  return [...own, ...below];
}

/** True for a part of a request. */
function isRequest(path: string): boolean {
  const [, component] = /^\/components\/schemas\/([^/]+)/.exec(path) ?? [];
  return component === undefined
    ? /^\/paths\/[^/]+\/[^/]+\/(parameters|requestBody)\//.test(path)
    : requestSchemas.has(component);
}

/** Generators read it as a nullable reference. */
function isReferenceOrNull([reference, nothing, ...others]: Node[]): boolean {
  return reference?.["$ref"] !== undefined && nothing?.["type"] === "null" && others.length === 0;
}

const operations = Object.values(apiDocument.paths).flatMap((item) => Object.values(item));
const webhooks = Object.values(apiDocument.webhooks).flatMap((item) => Object.values(item));

describe("the document", () => {
  it.each<[string, (node: Node, path: string) => boolean]>([
    [
      "a schema of only null, except in a union",
      ({ type }, path) => type === "null" && !path.endsWith("/oneOf/1"),
    ],
    [
      "an enum or a constant of a type other than string",
      ({ type, enum: values, const: value }) => {
        const all = [...((values as unknown[] | undefined) ?? []), ...(value === undefined ? [] : [value])];
        const isNullable = [type].flat().includes("null");
        return all.some((each) => typeof each !== "string" && !(each === null && isNullable));
      },
    ],
    [
      "an object in a response or event that says which other members it can have, except a map",
      ({ additionalProperties: others, properties }, path) =>
        (others === false || (others !== undefined && properties !== undefined)) && !isRequest(path),
    ],
    ["anyOf or allOf", (node) => "anyOf" in node || "allOf" in node],
    [
      "oneOf, except of a reference and null",
      ({ oneOf }) => oneOf !== undefined && !isReferenceOrNull(oneOf as Node[]),
    ],
    ["a read-only member, which webhook payloads would lose", ({ readOnly }) => readOnly === true],
    [
      "an enum in a response or event, where new values may be added",
      ({ enum: values }, path) =>
        values !== undefined && /^\/(components\/schemas|webhooks)\//.test(path) && !isRequest(path),
    ],
    [
      "an open list of codes in a request, where the server refuses others",
      (node, path) => "x-extensible-enum" in node && isRequest(path),
    ],
    [
      "an enum value that is not an identifier and has no name for clients",
      (node) =>
        ((node["enum"] as string[] | undefined) ?? []).some((value) => !/^\w+$/.test(value)) &&
        (node["x-enum-varnames"] as string[] | undefined)?.length !== (node["enum"] as string[]).length,
    ],
    [
      "a property or parameter named page with a default",
      ({ name, schema }) => name === "page" && (schema as Node)["default"] !== undefined,
    ],
  ])("does not contain %s", (_rule, matches) => {
    expect(find(apiDocument, matches)).toEqual([]);
  });

  it("uses all of its components", () => {
    const text = JSON.stringify(apiDocument);
    const names = Object.entries(apiDocument.components).flatMap(([kind, components]) =>
      kind === "securitySchemes" ? [] : Object.keys(components).map((name) => `#/components/${kind}/${name}`),
    );
    expect(names.filter((name) => !text.includes(`"${name}"`))).toEqual([]);
  });

  it("has the version of the package, a contact and a license", () => {
    expect(apiDocument.info).toMatchObject({
      version: manifest.version,
      contact: { name: expect.any(String) as string },
      license: { identifier: manifest.license },
    });
  });
});

const failures = (operation: Operation): [string, unknown][] =>
  Object.entries(operation.responses).filter(([status]) => /^[45]/.test(status));

describe("operations", () => {
  it("use ErrorEnvelope for all errors", () => {
    const inline = operations.flatMap((operation) =>
      failures(operation).flatMap(([, response]) => ("$ref" in (response as object) ? [] : [response])),
    );
    for (const response of [...inline, ...Object.values(apiDocument.components.responses)]) {
      expect(response).toMatchObject({
        content: { "application/json": { schema: { $ref: "#/components/schemas/ErrorEnvelope" } } },
      });
    }
    expect(inline.length).toBeGreaterThan(5);
  });

  it("share no tag with the webhooks, for which some generators write broken modules", () => {
    const tagsOf = (items: typeof operations) => new Set(items.flatMap(({ tags }) => tags));
    expect(tagsOf(operations).intersection(tagsOf(webhooks))).toEqual(new Set());
  });

  it("have no schema named like a test class, a built-in type or the constructor of another in Go", () => {
    const names = Object.keys(apiDocument.components.schemas);
    const constructors = new Set(names.map((name) => `New${name}`));
    const isRefused = /^Test|^(Error|Object|String|Map|Date)$|\d$/;
    expect(names.filter((name) => isRefused.test(name) || constructors.has(name))).toEqual([]);
  });
});
