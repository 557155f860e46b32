import { makeExecutableSchema } from "@graphql-tools/schema";
import fc from "fast-check";
import {
  execute,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  parse,
  validate,
  type ExecutionResult,
  type GraphQLSchema,
} from "graphql";
import { describe, expect, it } from "vitest";
import { createCompiler } from "../../../src/api/graphql/execution/jit.ts";
import { createExecutor } from "../../../src/api/graphql/execution/executor.ts";

const schema: GraphQLSchema = makeExecutableSchema({
  typeDefs: /* GraphQL */ `
    scalar JSON
    enum Color {
      RED
      GREEN
    }
    interface Node {
      id: ID!
    }
    input Filter {
      text: String = "none"
      colors: [Color!]
      inner: Filter
    }
    type Job implements Node {
      id: ID!
      text: String
      count: Int
      weight: Float
      done: Boolean
      color: Color
      colors: [Color!]
      raw: JSON
      agent: Agent
      required: Agent!
      list: [Job]
      strictList: [Job!]
      boom: String
      strictBoom: String!
      later: String
      laterBoom: Agent
      empty: [Job!]!
    }
    type Agent implements Node {
      id: ID!
      name: String
      jobs(first: Int = 2): [Job!]
    }
    type Query {
      job: Job
      strictJob: Job!
      jobs(first: Int, filter: Filter): [Job]
      node(id: ID = "job"): Node
      nodes(ids: [ID!]!): [Node]!
      echo(filter: Filter = { text: "default" }, ids: [ID], number: Float): JSON
      promised: [Node!]
    }
    type Mutation {
      first: Int
      second: Int
      fails: Int
      failsHard: Int!
    }
  `,
  resolvers: {
    Query: {
      job: () => makeJob(2),
      strictJob: () => makeJob(2),
      jobs: (_, { first }: { first?: number | null }) => Array.from({ length: first ?? 2 }, () => makeJob(1)),
      node: (_, { id }: { id: string | null }) =>
        id === "agent" ? makeAgent(1) : id === "job" ? makeJob(1) : null,
      nodes: (_, { ids }: { ids: string[] }) =>
        ids.map((id) => (id === "agent" ? makeAgent(1) : id === "bad" ? new Error("bad") : makeJob(0))),
      echo: (_, input: unknown) => input,
      promised: async () => [await Promise.resolve(makeAgent(0)), makeJob(0)],
    },
    Mutation: {
      first: async (_, __, context: { step: number }) =>
        (context.step = (await Promise.resolve(context.step)) + 1),
      second: (_, __, context: { step: number }) => (context.step *= 10),
      fails: () => {
        throw new Error("failed");
      },
      failsHard: () => Promise.reject(new Error("failed hard")),
    },
    Node: { __resolveType: ({ type }: { type: string }) => type },
    Job: {
      boom: () => {
        throw new Error("boom");
      },
      strictBoom: () => {
        throw new Error("strict boom");
      },
      later: () => Promise.resolve("later"),
      laterBoom: () => Promise.reject(new GraphQLError("later boom", { extensions: { code: "X" } })),
    },
    Agent: { jobs: (_, { first }: { first: number }) => Array.from({ length: first }, () => makeJob(0)) },
  },
});

function makeJob(levels: number): object {
  const inner = levels > 0 ? makeJob(levels - 1) : null;
  return {
    type: "Job",
    id: "job_1",
    text: levels === 0 ? null : "text",
    count: 3,
    weight: 1.5,
    done: false,
    color: "RED",
    colors: ["GREEN", "RED"],
    raw: { a: [1, null] },
    agent: levels > 0 ? makeAgent(levels) : null,
    required: levels > 1 ? null : makeAgent(0),
    list: [inner, null],
    strictList: inner === null ? [null] : [inner],
    empty: [],
  };
}

function makeAgent(levels: number): object {
  return { type: "Agent", id: "org_1", name: levels > 0 ? "Agent" : null };
}

/**
 * Returns the data as JSON and the paths of nulls that errors explain. If several errors lead to the same null, the GraphQL
 * specification does not say which of them are reported.
 */
function comparable({ data, errors = [] }: ExecutionResult): unknown {
  const nulls = errors.map(({ path = [] }) => firstNullPath(data, path));
  return { data: JSON.stringify(data), explained: [...new Set(nulls)].toSorted() };
}

function firstNullPath(data: unknown, path: readonly (string | number)[]): string {
  let value = data;
  let steps = 0;
  while (value !== null && steps < path.length) {
    value = (value as Record<string, unknown>)[String(path[steps])];
    steps += 1;
  }
  expect(value).toBeNull();
  return path.slice(0, steps).join(".");
}

const compile = createCompiler(schema);
const run = createExecutor(schema);

interface RepeatedRun {
  first: unknown;
  second: unknown;
  isCompiled: boolean;
}

/** Runs the document twice and expects the result of graphql-js. Returns null for an invalid document. */
async function runTwice(query: string, variables: Record<string, unknown> = {}): Promise<RepeatedRun | null> {
  const document = parse(query);
  const operation = getOperationAST(document);
  if (!operation || validate(schema, document).length > 0) return null;
  const { coerced: coercedVariables } = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    variables,
  );
  if (!coercedVariables) return null;
  const results = [];
  for (const _ of [1, 2])
    results.push(
      comparable(await run({ document, operation, context: { step: 1 }, variables, coercedVariables })),
    );
  const reference = comparable(
    await execute({ schema, document, variableValues: variables, contextValue: { step: 1 } }),
  );
  expect(results[0]).toEqual(reference);
  return { first: results[0], second: results[1], isCompiled: compile(document, operation) !== null };
}

describe("a repeated document returns the same result as the first time", () => {
  it.each<[title: string, query: string, variables?: Record<string, unknown>]>([
    ["scalars of every kind", "{ job { id text count weight done color colors raw empty { id } } }"],
    [
      "a list of an interface",
      '{ nodes(ids: ["agent", "job", "agent"]) { __typename ... on Agent { name } ...J } } fragment J on Job { count }',
    ],
    ["an error among values", '{ nodes(ids: ["agent", "bad"]) { id } }'],
    ["promises of lists", "{ promised { id } }"],
    ["null up to a nullable parent", "{ job { agent { jobs { required { id } strictBoom } } } }"],
    ["null up to the root", "{ strictJob { required { id } } job { id } }"],
    ["null in a list", "{ job { strictList { strictList { id } } } }"],
    ["several errors in one object", "{ job { boom text later laterBoom { id } } }"],
    ["several mutations", "mutation { first second again: first }"],
    ["a mutation that fails", "mutation { first fails second }"],
    ["a mutation that fails with a non-null type", "mutation { first failsHard second }"],
    ["defaults of arguments", "{ echo node { id } }"],
    ["null instead of a default", "{ echo(filter: null) node(id: null) { id } }"],
    ["an absent variable", "query ($f: Filter, $id: ID) { echo(filter: $f) node(id: $id) { id } }"],
    ["a null variable", "query ($f: Filter) { echo(filter: $f) }", { f: null }],
    ["a variable's default", 'query ($f: Filter = { text: "v" }) { echo(filter: $f) }'],
    [
      "null instead of a variable's default",
      'query ($f: Filter = { text: "v" }) { echo(filter: $f) }',
      { f: null },
    ],
    ["defaults within input", "query ($f: Filter) { echo(filter: $f) }", { f: { inner: { inner: {} } } }],
    ["a single value for a list", "query ($ids: [ID]) { echo(ids: $ids) a: echo(ids: 3) }", { ids: 7 }],
    ["numbers", "query ($n: Float) { echo(number: $n) a: echo(number: 3) }", { n: 3 }],
    ["a list length given by a variable", "query ($n: Int) { jobs(first: $n) { id } }", { n: 3 }],
    [
      "absent variables within input",
      "query ($t: String, $c: [Color!]) { echo(filter: { text: $t, colors: $c, inner: { text: $t } }) }",
      { c: "RED" },
    ],
    ["variables within lists", "query ($a: ID, $b: ID) { echo(ids: [$a, 1, $b]) }", { a: "x" }],
    [
      "variables within input in a fragment",
      `query ($t: String, $n: Int) { ...F }
       fragment F on Query { echo(filter: { text: $t }) jobs(first: $n, filter: { text: $t }) { id } }`,
      { t: "x", n: 1 },
    ],
    [
      "variables within input beside defaults, lists and single values",
      `query ($c: [Color!], $f: Filter, $t: String = "t", $a: ID) {
        one: echo(filter: { colors: $c, inner: { colors: $c } }) two: echo(filter: { text: $t, inner: $f }, ids: [$a, 2])
      }`,
      { c: "RED", f: { colors: ["GREEN"] }, a: 1 },
    ],
    [
      "a null variable within a list of non-null items",
      "query ($a: ID = 1) { nodes(ids: [$a]) { id } }",
      { a: null },
    ],
    ["names of Object.prototype members", "{ constructor: job { toString: text } }"],
  ])("%s", async (_title, query, variables) => {
    const result = await runTwice(query, variables);
    expect(result?.isCompiled).toBe(true);
    expect(result?.second).toEqual(result?.first);
  });

  it.each<[title: string, query: string, variables?: Record<string, unknown>]>([
    ["the alias __proto__", "{ job { __proto__: id } }"],
    [
      "@include",
      "query ($a: Boolean!) { job { ...F @include(if: $a) } } fragment F on Job { id }",
      { a: true },
    ],
    ["@skip without a variable", "{ job { id text @skip(if: true) } }"],
    ["introspection", "{ __schema { queryType { fields { name } } } job { id } }"],
  ])("not compiled: %s", async (_title, query, variables) => {
    const result = await runTwice(query, variables);
    expect(result?.isCompiled).toBe(false);
    expect(result?.second).toEqual(result?.first);
  });

  // evidence: graphql-compiled-query-any-document
  it("for any valid document", async () => {
    let compiled = 0;
    await fc.assert(
      fc.asyncProperty(documents, fc.boolean(), fc.boolean(), async (query, a, b) => {
        const result = await runTwice(query, { a, b });
        if (result?.isCompiled) compiled += 1;
        expect(result?.second).toEqual(result?.first);
      }),
      { numRuns: 100 },
    );
    expect(compiled).toBeGreaterThan(30);
  });
});

/** Rare, because a document with a directive is not compiled. */
const directive = fc.oneof(
  { weight: 60, arbitrary: fc.constant("") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("@include(if: $a)", "@skip(if: $b)", "@skip(if: $a) @include(if: $b)"),
  },
);
/** Declares the variables that the operation uses. */
function withDeclarations(...parts: string[]): string {
  const text = parts.join("");
  const used = ["$a", "$b"].filter((name) => text.includes(name)).map((name) => `${name}: Boolean!`);
  return `query ${used.length > 0 ? `(${used.join(" ")})` : ""} ${text}`;
}

const { documents } = fc.letrec<Record<"job" | "agent" | "node" | "query" | "documents", string>>((tie) => {
  const block = (type: "job" | "agent" | "node" | "query"): fc.Arbitrary<string> =>
    fc.array(tie(type), { minLength: 1, maxLength: 3 }).map((parts) => `{ __typename ${parts.join(" ")} }`);
  const field = (name: string, type?: "job" | "agent" | "node" | "query"): fc.Arbitrary<string> =>
    fc
      .tuple(fc.constantFrom("", "x: "), directive, type === undefined ? fc.constant("") : block(type))
      .map(([alias, when, inner]) => `${alias ? `x_${name.split("(")[0]}: ` : ""}${name} ${when} ${inner}`);
  const fragment = (type: "job" | "agent" | "node" | "query", on: string): fc.Arbitrary<string> =>
    fc.tuple(directive, block(type)).map(([when, inner]) => `... ${on} ${when} ${inner}`);
  const spread = (name: string): fc.Arbitrary<string> => directive.map((when) => `...${name} ${when}`);
  const leaf = (...names: string[]): fc.Arbitrary<string>[] => names.map((name) => field(name));
  const limited = { maxDepth: 3, depthIdentifier: "all" };
  return {
    job: fc.oneof(
      limited,
      ...leaf("id", "text", "count", "color", "colors", "boom", "later", "raw"),
      field("strictBoom"),
      field("agent", "agent"),
      field("required", "agent"),
      field("list", "job"),
      field("strictList", "job"),
      field("laterBoom", "agent"),
      fragment("job", "on Job"),
      fragment("job", ""),
      fragment("node", "on Node"),
      spread("J"),
    ),
    agent: fc.oneof(
      limited,
      ...leaf("id", "name"),
      field("jobs(first: 2)", "job"),
      fragment("agent", "on Agent"),
      spread("A"),
    ),
    node: fc.oneof(
      limited,
      field("id"),
      fragment("job", "on Job"),
      fragment("agent", "on Agent"),
      spread("J"),
      spread("A"),
    ),
    query: fc.oneof(
      limited,
      field("job", "job"),
      field("jobs(first: 2)", "job"),
      field('node(id: "agent")', "node"),
      field("promised", "node"),
      fragment("query", "on Query"),
    ),
    documents: fc
      .tuple(block("query"), block("job"), block("agent"), directive)
      .map(([query, job, agent, when]) =>
        withDeclarations(
          query.replace("{", `{ n: node ${when} { ...J ...A } `),
          ` fragment J on Job ${job.replaceAll("...J", "id")}`,
          ` fragment A on Agent ${agent.replaceAll("...A", "id").replaceAll("...J", "id")}`,
        ),
      ),
  };
});
