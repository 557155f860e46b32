import { getOperationAST, parse, validate } from "graphql";
import { makeExecutableSchema } from "@graphql-tools/schema";
import { describe, expect, it } from "vitest";
import { measureOperation } from "../../src/graphql/execution/operation-guard.ts";
import { planOf } from "../../src/graphql/execution/operation-plan.ts";
import { readSdl } from "../../src/graphql/sdl.ts";
import { prepareOperation } from "../../src/graphql/subscriptions/operation.ts";
import type { AppError } from "../../src/platform/errors.ts";

const schema = makeExecutableSchema({ typeDefs: readSdl() });

/** What an operation of the real schema costs. */
function costOf(query: string, variables: Record<string, unknown> = {}): number | null {
  const document = parse(query);
  expect(validate(schema, document)).toEqual([]);
  const operation = getOperationAST(document);
  if (!operation) throw new Error("The test names no operation");
  return (
    measureOperation(schema, planOf(schema, document, operation), { operation, variables })?.cost ?? null
  );
}

/** How it is refused. */
function refusal(query: string, variables: Record<string, unknown> = {}): AppError {
  try {
    costOf(query, variables);
  } catch (error) {
    return error as AppError;
  }
  throw new Error("It was not refused");
}

function items(count: number): object {
  return { items: Array.from({ length: count }, (_, at) => ({ markingNumber: `M${at}`, patch: {} })) };
}

function webhookHeaders(count: number): object[] {
  return Array.from({ length: count }, () => ({ name: "a", value: "b" }));
}

function nots(levels: number): object {
  let filter = {};
  for (let level = 0; level < levels; level += 1) filter = { not: filter };
  return filter;
}

function literalNots(levels: number): string {
  return `${"{ not: ".repeat(levels)}{}${" }".repeat(levels)}`;
}

describe("the cost of an operation", () => {
  const changes = "mutation ($items: [UpdateJobInput!]!) { updateJobs(items: $items)";
  it.each<[what: string, cost: number, query: string, variables?: object]>([
    ["an object is 1, its scalars nothing", 1, '{ job(markingNumber: "A") { id recipientName version } }'],
    ["an object in an object", 3, '{ job(markingNumber: "A") { status { label } agent { name } } }'],
    ["a page is 20 unless said", 20, "{ jobs { nodes { id } } }"],
    ["a page as said", 50, "{ jobs(first: 50) { nodes { id } } }"],
    ["a page from the end", 7, "{ jobs(last: 7) { nodes { id } } }"],
    ["a page by a variable", 30, "query ($n: Int) { jobs(first: $n) { nodes { id } } }", { n: 30 }],
    ["a page by a variable's default", 5, "query ($n: Int = 5) { jobs(first: $n) { nodes { id } } }"],
    ["a page by a variable that is not given", 20, "query ($n: Int) { jobs(first: $n) { nodes { id } } }"],
    ["a page that is null is none", 20, "query ($n: Int) { jobs(first: $n) { nodes { id } } }", { n: null }],
    [
      "edges cost what nodes cost",
      50,
      "{ jobs(first: 50) { edges { cursor node { id } } pageInfo { endCursor } } }",
    ],
    ["the page is read for its pageInfo too", 50, "{ jobs(first: 50) { pageInfo { endCursor } } }"],
    [
      "what is reached both ways is one item with both parts",
      30,
      "{ jobs(first: 10) { nodes { agent { id } } edges { node { contractor { id } } } } }",
    ],
    ["counting alone reads no page", 20, "{ jobs(first: 50) { totalCount } }"],
    ["counting beside a page", 70, "{ jobs(first: 50) { totalCount nodes { id } } }"],
    [
      "each item brings what is selected of it",
      150,
      "{ jobs(first: 50) { nodes { agent { name } status { label } } } }",
    ],
    [
      "pages in pages multiply",
      10 * (1 + 5),
      "{ jobs(first: 10) { nodes { history(first: 5) { nodes { type } } } } }",
    ],
    ["aggregates are 50, whatever is selected", 50, "{ jobStats { total groups { count keys { label } } } }"],
    [
      "a list of Marking Numbers counts each",
      6,
      '{ jobsByMarkingNumber(markingNumbers: ["A", "B", "C"]) { agent { id } } }',
    ],
    [
      "ids count each, as the dearest that they may be",
      4,
      '{ nodes(ids: ["a", "b"]) { id ... on Job { agent { id } } ... on JobEvent { type } } }',
    ],
    ["a list without an argument counts once", 1, "{ jobStatuses { code label } }"],
    [
      "a list that narrows multiplies nothing",
      20,
      "{ events(types: [JOB_CREATED, JOB_UPDATED]) { nodes { id } } }",
    ],
    [
      "a change of many counts what it answers for each",
      1 + 10 * 2,
      `${changes} { results { outcome job { id } } } }`,
      items(10),
    ],
    [
      "merged fields count once",
      2,
      '{ job(id: "a") { agent { id } ...A ...A } } fragment A on Job { agent { name } }',
    ],
    [
      "looking at the schema is free",
      1,
      '{ __type(name: "JobStatus") { name fields { name type { name } } } __typename }',
    ],
    [
      "what may be left out counts as asked for",
      2,
      'query ($w: Boolean!) { job(id: "a") { agent @include(if: $w) { id } } }',
      { w: false },
    ],
    [
      "a subscription counts one event",
      2,
      "subscription { jobChanged(types: [JOB_CREATED, JOB_UPDATED]) { type job { id } } }",
    ],
  ])("%s", (_what, cost, query, variables = {}) => {
    expect(costOf(query, variables as Record<string, unknown>)).toBe(cost);
  });

  it("depends on the variables also where the document is known already", () => {
    const query = "query ($n: Int) { jobs(first: $n) { nodes { id } } }";
    expect([1, 100, 2].map((n) => costOf(query, { n }))).toEqual([1, 100, 2]);
  });

  it("is null where the variables are wrong, which execution tells", () => {
    expect(costOf("query ($n: Int) { jobs(first: $n) { nodes { id } } }", { n: "x" })).toBeNull();
  });

  it.each<[what: string, limit: string, asked: number, most: number, query: string]>([
    ["cost", "cost", 1100, 1000, "{ jobs(first: 100) { nodes { history(first: 10) { nodes { id } } } } }"],
    [
      "depth",
      "depth",
      11,
      10,
      `{ job(id: "a") { history { nodes { job { history { nodes { job { history { nodes { job { id } } } } } } } } } } }`,
    ],
    [
      "aliases",
      "aliases",
      21,
      20,
      `{ job(id: "a") { ${Array.from({ length: 21 }, (_, at) => `a${at}: id`).join(" ")} } }`,
    ],
    [
      "root fields",
      "rootFields",
      11,
      10,
      `{ ${Array.from({ length: 11 }, (_, at) => `a${at}: jobStatuses { code }`).join(" ")} }`,
    ],
  ])(
    "%s beyond its limit is refused with the limit and what was asked",
    (...[, limit, asked, most, query]) => {
      expect(refusal(query)).toMatchObject({
        message: expect.stringMatching(new RegExp(`${asked}.*${most}`)),
        extensions: { code: "QUERY_TOO_EXPENSIVE", limit, asked, most, http: { status: 400 } },
      });
    },
  );

  // evidence: graphql-cost-limit-exact
  it("of exactly the limit is allowed", () => {
    expect(costOf("{ jobs(first: 100) { nodes { history(first: 9) { nodes { id } } } } }")).toBe(1000);
  });

  it.each<[what: string, field: string, query: string, variables?: object]>([
    ["no items", "jobs.first", "{ jobs(first: 0) { nodes { id } } }"],
    ["fewer than none", "jobs.first", "{ jobs(first: -1) { totalCount } }"],
    ["more than 100", "jobs.last", "{ jobs(last: 101) { nodes { id } } }"],
    [
      "more than 100, by a variable",
      "jobs.first",
      "query ($n: Int) { jobs(first: $n) { nodes { id } } }",
      { n: 101 },
    ],
    [
      "more than 100 further in",
      "j.nodes.history.first",
      "{ j: jobs { nodes { history(first: 101) { nodes { id } } } } }",
    ],
    ["both ways at once", "jobs.first", "{ jobs(first: 1, last: 1) { nodes { id } } }"],
    [
      "101 ids",
      "nodes.ids",
      "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }",
      { ids: Array(101).fill("a") },
    ],
    ["no changes", "updateJobs.items", "mutation { updateJobs(items: []) { updatedCount } }"],
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
  ])("a page or list of %s is refused by the argument's name", (_what, field, query, variables = {}) => {
    expect(refusal(query, variables as Record<string, unknown>)).toMatchObject({
      code: "BadRequestException",
      details: [{ field, message: expect.stringMatching(/\w/) }],
    });
  });

  it.each<[what: string, field: string, query: string, variables?: object]>([
    [
      "by a variable",
      "updateWebhookEndpoint.patch.headers",
      'mutation ($p: WebhookEndpointPatch!) { updateWebhookEndpoint(id: "a", patch: $p) { userErrors { code } } }',
      { p: { headers: webhookHeaders(130_000) } },
    ],
    [
      "by a variable within a literal",
      "updateWebhookEndpoint.patch.headers",
      'mutation ($h: [WebhookHeaderInput!]) { updateWebhookEndpoint(id: "a", patch: { headers: $h }) { userErrors { code } } }',
      { h: webhookHeaders(101) },
    ],
    [
      "as a literal",
      "jobs.filter.and.1.not.contractorId",
      `{ jobs(filter: { and: [{}, { not: { contractorId: [${'"a" '.repeat(101)}] } }] }) { totalCount } }`,
    ],
  ])("a list within an input object is refused with its path: %s", (_what, field, query, variables = {}) => {
    expect(refusal(query, variables as Record<string, unknown>)).toMatchObject({
      code: "BadRequestException",
      details: [{ field, code: "out_of_range" }],
    });
  });

  it("names no more than 20 lists that are too long", () => {
    const and = Array.from({ length: 100 }, () => ({ contractorId: Array(101).fill("a") }));
    const query = "query ($f: JobFilter) { jobs(filter: $f) { totalCount } }";
    expect(refusal(query, { f: { and } }).details).toHaveLength(20);
  });

  it("of inputs that nest 20 levels deep is counted", () => {
    expect(costOf("query ($f: JobFilter) { jobs(filter: $f) { totalCount } }", { f: nots(19) })).toBe(20);
    expect(costOf(`{ jobs(filter: ${literalNots(19)}) { totalCount } }`)).toBe(20);
  });

  // evidence: graphql-variable-depth
  it.each([20, 5_000, 100_000])("is refused where a variable nests deeper than 20 levels: %i", (levels) => {
    const filtered = "query ($f: JobFilter) { jobs(filter: $f) { totalCount } }";
    expect(refusal(filtered, { f: nots(levels) })).toMatchObject({
      code: "BadRequestException",
      details: [{ field: "variables.f", code: "too_deep" }],
    });
  });

  it.each([20, 300])(
    "is refused where an argument as it is written nests deeper than 20 levels: %i",
    (levels) => {
      expect(refusal(`{ jobs(filter: ${literalNots(levels)}) { totalCount } }`)).toMatchObject({
        code: "BadRequestException",
        details: [{ field: "jobs.filter", code: "too_deep" }],
      });
    },
  );

  it("is refused for a subscription whose variable nests too deep", () => {
    const query = "subscription ($t: [JobEventType!]) { jobChanged(types: $t) { type } }";
    expect(() => prepareOperation(schema, { query, variables: { t: nots(100_000) } })).toThrow(
      "variables.t must not nest deeper than 20 levels",
    );
  });

  it("names every page that is wrong at once", () => {
    expect(
      refusal("{ a: jobs(first: 0) { totalCount } b: jobs(first: 101) { totalCount } }").details,
    ).toHaveLength(2);
  });

  it("is refused where a variable is null and must not be", () => {
    const query = 'query ($id: ID = "a") { node(id: $id) { id } }';
    expect(costOf(query)).toBe(1);
    expect(refusal(query, { id: null })).toMatchObject({ code: "BadRequestException" });
  });
});
