/** Limits on introspection: the standard query of tools is accepted, expensive queries are rejected. */
import { getIntrospectionQuery, getOperationAST, parse, validate } from "graphql";
import { makeExecutableSchema } from "@graphql-tools/schema";
import { describe, expect, it } from "vitest";
import { measureOperation } from "../../../src/api/graphql/execution/operation-guard.ts";
import { planOf, type OperationPlan } from "../../../src/api/graphql/execution/operation-plan.ts";
import { readSdl } from "../../../src/api/graphql/sdl.ts";

const schema = makeExecutableSchema({ typeDefs: readSdl() });
const standard = getIntrospectionQuery({
  descriptions: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  oneOf: true,
});

function planFor(query: string): OperationPlan {
  const document = parse(query);
  expect(validate(schema, document)).toEqual([]);
  return planOf(schema, document, getOperationAST(document)!);
}

function costOf(query: string, variables: Record<string, unknown> = {}): number | undefined {
  const operation = getOperationAST(parse(query))!;
  return measureOperation(schema, planFor(query), { operation, variables })?.cost;
}

function rejection(query: string, variables: Record<string, unknown> = {}): unknown {
  try {
    costOf(query, variables);
  } catch (error) {
    return error;
  }
  throw new Error("The operation was not rejected");
}

function repeat(count: number, write: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => write(index)).join(" ");
}

const FIELDS = "fragment S on __Schema { types { fields { args { type { ...D } } type { ...D } } } }";
const DEEP =
  "fragment D on __Type { ...F ofType { ...F ofType { ...F ofType { ...F ofType { ...F } } } } } fragment F on __Type { fields { name } inputFields { name } }";

describe("introspection", () => {
  // evidence: introspection-standard-query-cost
  it("by the standard query costs at most 800 of 1000, so that the schema can grow", () => {
    expect(costOf(standard)).toBeGreaterThan(300);
    expect(costOf(standard)).toBeLessThanOrEqual(800);
    expect(planFor(standard)).toMatchObject({ depth: 6, introspection: [{ path: "__schema" }] });
  });

  // evidence: introspection-once-per-operation
  it("can select __schema or __type only once", () => {
    const message = "The operation selects __schema or __type 2 times; at most 1 is allowed, under one name";
    const numbers = { code: "QUERY_TOO_EXPENSIVE", limit: "introspections", most: 1, asked: 2 };
    for (const query of [
      "{ a: __schema { description } b: __schema { description } }",
      '{ __schema { description } __type(name: "Job") { name } }',
      "{ __schema { description } ...A } fragment A on Query { a: __schema { description } }",
    ])
      expect(rejection(query)).toMatchObject({ message, extensions: numbers });
    expect(
      costOf("{ __schema { description } ... on Query { __schema { types { name } } } }"),
    ).toBeGreaterThan(1);
  });

  // evidence: introspection-widened-rejected
  it.each([
    [
      "twelve aliases of __schema",
      `{ ${repeat(12, (index) => `a${index}: __schema { ...S }`)} } ${FIELDS} ${DEEP}`,
    ],
    [
      "twelve aliases of types below one __schema",
      `{ __schema { ${repeat(12, (index) => `a${index}: types { ...T }`)} } } fragment T on __Type { fields { args { type { ...D } } type { ...D } } } ${DEEP}`,
    ],
    [
      "three aliases of fields below one __schema",
      `{ __schema { types { ${repeat(3, (index) => `a${index}: fields { args { type { ...D } } type { ...D } }`)} } } } ${DEEP}`,
    ],
  ])("is rejected if it is too expensive: %s", (_title, query) => {
    expect(rejection(query)).toMatchObject({ extensions: { code: "QUERY_TOO_EXPENSIVE" } });
  });

  it("is counted with its variables and together with other fields", () => {
    const query =
      'query ($all: Boolean) { __type(name: "Job") { fields(includeDeprecated: $all) { name } } jobs(first: 100) { nodes { id } } }';
    expect(costOf(query, { all: true })).toBeGreaterThan(100);
    const more = `query ($all: Boolean) { __schema { types { ${repeat(6, (index) => `a${index}: fields(includeDeprecated: $all) { name type { name } args { name type { ...D } } }`)} } } } ${DEEP}`;
    expect(rejection(more, { all: true })).toMatchObject({ extensions: { limit: "cost", most: 1000 } });
  });

  it("counts depth without ofType levels", () => {
    const ofType = (levels: number): string =>
      levels === 0 ? "name" : `kind ofType { ${ofType(levels - 1)} }`;
    const query = `{ __type(name: "Job") { fields { type { ${ofType(9)} } } } }`;
    expect(planFor(query).depth).toBe(4);
    expect(planFor("{ __schema { types { fields { args { type { fields { name } } } } } } }").depth).toBe(7);
  });

  it.each(["__schema { types { ...T } }", '__type(name: "Job") { ...T }'])(
    "counts aliases in fragments: %s",
    (selection) => {
      const query = (inner: number): string =>
        `{ ${selection} } fragment T on __Type { fields { ${repeat(2, (index) => `x${index}: type { ...U }`)} } } fragment U on __Type { ${repeat(inner, (index) => `y${index}: name`)} }`;
      expect(costOf(query(2))).toBeGreaterThan(0);
      expect(rejection(query(10))).toMatchObject({ extensions: { limit: "aliases", asked: 22 } });
    },
  );
});
