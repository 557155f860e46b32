import { getIntrospectionQuery, getOperationAST, parse, validate } from "graphql";
import { makeExecutableSchema } from "@graphql-tools/schema";
import { describe, expect, it } from "vitest";
import { measureOperation } from "../../../src/api/graphql/execution/operation-guard.ts";
import { planOf } from "../../../src/api/graphql/execution/operation-plan.ts";
import { readSdl } from "../../../src/api/graphql/sdl.ts";
import type { AppError } from "../../../src/core/errors.ts";

const schema = makeExecutableSchema({ typeDefs: readSdl() });

/** Returns the operation of the document and its plan for the real schema. */
function planFor(query: string) {
  const document = parse(query);
  expect(validate(schema, document)).toEqual([]);
  const operation = getOperationAST(document);
  if (!operation) throw new Error("The document has no operation");
  return { operation, plan: planOf(schema, document, operation) };
}

/** Returns the cost of an operation. */
function costOf(query: string, variables: Record<string, unknown> = {}): number | null {
  const { operation, plan } = planFor(query);
  return measureOperation(schema, plan, { operation, variables })?.cost ?? null;
}

/** Returns the error that rejects the operation. */
function rejection(query: string, variables: Record<string, unknown> = {}): AppError {
  try {
    costOf(query, variables);
  } catch (error) {
    return error as AppError;
  }
  throw new Error("The operation was not rejected");
}

function items(count: number): object {
  return { items: Array.from({ length: count }, (_, index) => ({ markingNumber: `M${index}`, patch: {} })) };
}

function webhookHeaders(count: number): object[] {
  return Array.from({ length: count }, () => ({ name: "a", value: "b" }));
}

function nestedNot(levels: number): object {
  let filter = {};
  for (let level = 0; level < levels; level += 1) filter = { not: filter };
  return filter;
}

function nestedNotLiteral(levels: number): string {
  return `${"{ not: ".repeat(levels)}{}${" }".repeat(levels)}`;
}

describe("the cost of an operation", () => {
  const changes = "mutation ($items: [UpdateJobInput!]!) { updateJobs(items: $items)";
  it.each<[title: string, cost: number, query: string, variables?: object]>([
    [
      "is 1 for an object and 0 for its scalars",
      1,
      '{ job(markingNumber: "A") { id recipientName version } }',
    ],
    ["includes nested objects", 3, '{ job(markingNumber: "A") { status { label } agent { name } } }'],
    ["is 20 for a page of default size", 20, "{ jobs { nodes { id } } }"],
    ["is the page size given by first", 50, "{ jobs(first: 50) { nodes { id } } }"],
    ["is the page size given by last", 7, "{ jobs(last: 7) { nodes { id } } }"],
    [
      "is the page size given by a variable",
      30,
      "query ($n: Int) { jobs(first: $n) { nodes { id } } }",
      { n: 30 },
    ],
    [
      "is the page size given by a variable's default",
      5,
      "query ($n: Int = 5) { jobs(first: $n) { nodes { id } } }",
    ],
    ["is 20 for a page whose variable is absent", 20, "query ($n: Int) { jobs(first: $n) { nodes { id } } }"],
    [
      "is 20 for a page size of null",
      20,
      "query ($n: Int) { jobs(first: $n) { nodes { id } } }",
      { n: null },
    ],
    [
      "is the same for edges and nodes",
      50,
      "{ jobs(first: 50) { edges { cursor node { id } } pageInfo { endCursor } } }",
    ],
    ["includes the page if only pageInfo is selected", 50, "{ jobs(first: 50) { pageInfo { endCursor } } }"],
    [
      "counts items selected by both nodes and edges once",
      30,
      "{ jobs(first: 10) { nodes { agent { id } } edges { node { contractor { id } } } } }",
    ],
    ["is 20 for totalCount alone", 20, "{ jobs(first: 50) { totalCount } }"],
    ["is the sum of totalCount and the page", 70, "{ jobs(first: 50) { totalCount nodes { id } } }"],
    [
      "includes the objects selected in each item",
      150,
      "{ jobs(first: 50) { nodes { agent { name } status { label } } } }",
    ],
    [
      "multiplies nested pages",
      10 * (1 + 5),
      "{ jobs(first: 10) { nodes { history(first: 5) { nodes { type } } } } }",
    ],
    ["is 50 for jobStats with any selection", 50, "{ jobStats { total groups { count keys { label } } } }"],
    ["is 50 for jobsToday with any selection", 50, "{ jobsToday { contractors { contractor { name } } } }"],
    [
      "counts each Marking Number of a list",
      6,
      '{ jobsByMarkingNumber(markingNumbers: ["A", "B", "C"]) { agent { id } } }',
    ],
    [
      "counts each ID as the most expensive possible type",
      4,
      '{ nodes(ids: ["a", "b"]) { id ... on Job { agent { id } } ... on JobEvent { type } } }',
    ],
    ["is 1 for a list without arguments", 1, "{ jobStatuses { code label } }"],
    [
      "is not multiplied by a list that only filters",
      20,
      "{ events(types: [JOB_CREATED, JOB_UPDATED]) { nodes { id } } }",
    ],
    [
      "counts the selected result of each item of a bulk mutation",
      1 + 10 * 2,
      `${changes} { results { outcome job { id } } } }`,
      items(10),
    ],
    [
      "counts the selected objects of each test job",
      1 + 10 * 2,
      "mutation { createTestJobs(input: { count: 10 }) { jobs { agent { id } } } }",
    ],
    [
      "counts at most 100 test jobs, as more are rejected",
      1 + 100,
      "mutation { createTestJobs(input: { count: 100000 }) { jobs { id } } }",
    ],
    [
      "counts merged fields once",
      2,
      '{ job(id: "a") { agent { id } ...A ...A } } fragment A on Job { agent { name } }',
    ],
    [
      "is 1 for a small introspection query",
      1,
      '{ __type(name: "JobStatus") { name fields { name type { name } } } __typename }',
    ],
    [
      "includes fields under @include and @skip",
      2,
      'query ($w: Boolean!) { job(id: "a") { agent @include(if: $w) { id } } }',
      { w: false },
    ],
    [
      "is the cost of one event for a subscription",
      2,
      "subscription { jobChanged(types: [JOB_CREATED, JOB_UPDATED]) { type job { id } } }",
    ],
  ])("%s", (_title, cost, query, variables = {}) => {
    expect(costOf(query, variables as Record<string, unknown>)).toBe(cost);
  });

  it("depends on the variables even for a cached document", () => {
    const query = "query ($n: Int) { jobs(first: $n) { nodes { id } } }";
    expect([1, 100, 2].map((n) => costOf(query, { n }))).toEqual([1, 100, 2]);
  });

  it("is null for invalid variables, which execution reports", () => {
    expect(costOf("query ($n: Int) { jobs(first: $n) { nodes { id } } }", { n: "x" })).toBeNull();
  });
});

describe("measureOperation", () => {
  // evidence: graphql-cost-limit-exact
  it("accepts a cost of exactly the limit", () => {
    expect(costOf("{ jobs(first: 100) { nodes { history(first: 9) { nodes { id } } } } }")).toBe(1000);
  });

  it.each<[title: string, field: string, query: string, variables?: object]>([
    ["0 items", "jobs.first", "{ jobs(first: 0) { nodes { id } } }"],
    ["-1 items", "jobs.first", "{ jobs(first: -1) { totalCount } }"],
    ["101 items", "jobs.last", "{ jobs(last: 101) { nodes { id } } }"],
    [
      "101 items by a variable",
      "jobs.first",
      "query ($n: Int) { jobs(first: $n) { nodes { id } } }",
      { n: 101 },
    ],
    [
      "101 nested items",
      "j.nodes.history.first",
      "{ j: jobs { nodes { history(first: 101) { nodes { id } } } } }",
    ],
    ["first and last items together", "jobs.first", "{ jobs(first: 1, last: 1) { nodes { id } } }"],
    [
      "101 ids",
      "nodes.ids",
      "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }",
      { ids: Array(101).fill("a") },
    ],
    ["0 updates", "updateJobs.items", "mutation { updateJobs(items: []) { updatedCount } }"],
    [
      "101 jobs",
      "createJobs.items",
      "mutation ($i: [CreateJobInput!]!) { createJobs(items: $i) { createdCount } }",
      { i: Array.from({ length: 101 }, () => ({ markingNumber: "A", agentId: "o" })) },
    ],
    [
      "101 types",
      "events.types",
      "query ($t: [JobEventType!]) { events(types: $t) { nodes { id } } }",
      { t: Array(101).fill("JOB_CREATED") },
    ],
  ])("rejects a page or list of %s and names the argument", (_title, field, query, variables = {}) => {
    expect(rejection(query, variables as Record<string, unknown>)).toMatchObject({
      code: "BadRequestException",
      details: [{ field, message: expect.stringMatching(/\w/) }],
    });
  });

  it.each<[title: string, field: string, query: string, variables?: object]>([
    [
      "by a variable",
      "updateWebhookEndpoint.patch.headers",
      'mutation ($p: WebhookEndpointPatch!) { updateWebhookEndpoint(id: "a", patch: $p) { userErrors { code } } }',
      { p: { headers: webhookHeaders(1_900) } },
    ],
    [
      "by a variable in a literal",
      "updateWebhookEndpoint.patch.headers",
      'mutation ($h: [WebhookHeaderInput!]) { updateWebhookEndpoint(id: "a", patch: { headers: $h }) { userErrors { code } } }',
      { h: webhookHeaders(101) },
    ],
    [
      "as a literal",
      "jobs.filter.and.1.not.contractorId",
      `{ jobs(filter: { and: [{}, { not: { contractorId: [${'"a" '.repeat(101)}] } }] }) { totalCount } }`,
    ],
  ])(
    "rejects a list that is too long within an input object, with its path: %s",
    (_title, field, query, variables = {}) => {
      expect(rejection(query, variables as Record<string, unknown>)).toMatchObject({
        code: "BadRequestException",
        details: [{ field, code: "out_of_range" }],
      });
    },
  );

  it("reports at most 20 lists that are too long", () => {
    const and = Array.from({ length: 100 }, () => ({ contractorId: Array(101).fill("a") }));
    const query = "query ($f: JobFilter) { jobs(filter: $f) { totalCount } }";
    expect(rejection(query, { f: { and } }).details).toHaveLength(20);
  });

  it("accepts inputs nested 20 levels deep", () => {
    expect(costOf("query ($f: JobFilter) { jobs(filter: $f) { totalCount } }", { f: nestedNot(19) })).toBe(
      20,
    );
    expect(costOf(`{ jobs(filter: ${nestedNotLiteral(19)}) { totalCount } }`)).toBe(20);
  });

  // evidence: graphql-variable-depth
  it.each([20, 5_000, 100_000])("rejects a variable nested deeper than 20 levels: %i", (levels) => {
    const filtered = "query ($f: JobFilter) { jobs(filter: $f) { totalCount } }";
    expect(rejection(filtered, { f: nestedNot(levels) })).toMatchObject({
      code: "BadRequestException",
      details: [{ field: "variables.f", code: "too_deep" }],
    });
  });

  it.each([20, 300])("rejects a literal argument nested deeper than 20 levels: %i", (levels) => {
    expect(rejection(`{ jobs(filter: ${nestedNotLiteral(levels)}) { totalCount } }`)).toMatchObject({
      code: "BadRequestException",
      details: [{ field: "jobs.filter", code: "too_deep" }],
    });
  });

  it("rejects a subscription variable nested too deep", () => {
    const query = "subscription ($t: [JobEventType!]) { jobChanged(types: $t) { type } }";
    expect(rejection(query, { t: nestedNot(100_000) }).details).toEqual([
      expect.objectContaining({ field: "variables.t", message: "must not nest deeper than 20 levels" }),
    ]);
  });

  it("reports all invalid page sizes", () => {
    expect(
      rejection("{ a: jobs(first: 0) { totalCount } b: jobs(first: 101) { totalCount } }").details,
    ).toHaveLength(2);
  });

  it("rejects a null variable where null is not allowed", () => {
    const query = 'query ($id: ID = "a") { node(id: $id) { id } }';
    expect(costOf(query)).toBe(1);
    expect(rejection(query, { id: null })).toMatchObject({ code: "BadRequestException" });
  });
});

/** The query of tools, with everything that they can ask for. */
const standard = getIntrospectionQuery({
  descriptions: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  oneOf: true,
});

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
    expect(planFor(standard).plan).toMatchObject({ depth: 6, introspection: [{ path: "__schema" }] });
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
    expect(planFor(query).plan.depth).toBe(4);
    expect(
      planFor("{ __schema { types { fields { args { type { fields { name } } } } } } }").plan.depth,
    ).toBe(7);
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
