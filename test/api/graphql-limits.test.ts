import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPostgresStore } from "../../src/rate-limits/rate-limit.sql.ts";
import { limits } from "../../src/api/graphql/execution/limits.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import {
  startGraphqlFixture,
  type RawGraphqlResponse,
  type GraphqlFixture,
} from "../support/graphql/server.fixture.ts";

const typeDefs = /* GraphQL */ `
  interface Node {
    id: ID!
  }
  type Item implements Node {
    id: ID!
    name: String
    next: Item
    other: Item
    items(first: Int, last: Int): ItemConnection
  }
  type ItemConnection {
    nodes: [Item!]!
    totalCount: Int!
  }
  input Filter {
    not: Filter
  }
  type Mutation {
    change: Item
    updateJobs: Item
    rescheduleJobs: Item
  }
  type Query {
    item: Item
    found(filter: Filter): Item
    items(first: Int, last: Int): ItemConnection
    nodes(ids: [ID!]!): [Node]!
  }
`;
const item = { __typename: "Item", id: "a", name: "A", items: { nodes: [], totalCount: 0 } };

let rig: GraphqlFixture;
let own: Record<string, string>;

beforeAll(async () => {
  const reads = { item: () => item, items: () => item.items, nodes: () => [item] };
  rig = await startGraphqlFixture({ typeDefs, resolvers: { Query: reads } });
  own = { "x-api-key": await rig.newKey() };
});
afterAll(() => rig[Symbol.asyncDispose]());

/** Removes the request ID. */
function comparable({ status, body }: RawGraphqlResponse): unknown {
  return { status, body: JSON.parse(JSON.stringify(body).replaceAll(/"req_\w+"/g, '""')) as unknown };
}

/** Sends the operation twice: as a new and as a cached document. */
async function askTwice(query: string, variables: object = {}): Promise<RawGraphqlResponse> {
  const first = await rig.post({ query, variables }, own);
  const second = await rig.post({ query, variables }, own);
  expect(comparable(second)).toEqual(comparable(first));
  return second;
}

const nested = (levels: number, inner = "id"): string =>
  levels === 0 ? inner : `next { ${nested(levels - 1, inner)} }`;

/** Each fragment spreads the next one twice, under fields that do not merge. */
function bomb(fragments: number): string {
  const spread = (index: number): string =>
    index === fragments ? "id" : `next { ...F${index + 1} } other { ...F${index + 1} }`;
  const definitions = Array.from(
    { length: fragments },
    (_, index) => `fragment F${index + 1} on Item { ${spread(index + 1)} }`,
  );
  return `{ item { ...F1 } } ${definitions.join(" ")}`;
}

describe("an operation over a limit", () => {
  it.each([
    ["depth", `{ item { ${nested(9)} } }`, 11],
    [
      "depth",
      `{ item { ...A } } fragment A on Item { ${nested(5, "...B")} } fragment B on Item { ${nested(5)} }`,
      12,
    ],
    [
      "aliases",
      `{ ${Array.from({ length: 3 }, (_, index) => `r${index}: item { ${Array.from({ length: 6 }, (__, n) => `a${n}: id`).join(" ")} }`).join(" ")} }`,
      21,
    ],
    ["rootFields", `{ ${Array.from({ length: 11 }, (_, index) => `r${index}: item { id }`).join(" ")} }`, 11],
    ["cost", "{ items(first: 100) { nodes { items(first: 100) { nodes { id } } } } }", 10_100],
    ["cost", "{ items(first: 100) { totalCount nodes { items(first: 9) { nodes { id } } } } }", 1020],
  ] as const)("is rejected with 400 and the limit: %s: %s", async (limit, query, asked) => {
    const { status, body } = await askTwice(query);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      errors: [{ extensions: { code: "QUERY_TOO_EXPENSIVE", limit, asked, most: limits[limit] } }],
    });
    expect(body.errors[0].message).toContain(String(asked));
    expect(body.errors[0].message).toContain(String(limits[limit]));
    expect(body).not.toHaveProperty("data");
    expect(body).not.toHaveProperty("extensions");
  });

  it("is measured if it is named among others", async () => {
    const query =
      "query Small { item { id } } query Large { items(first: 100) { nodes { items { nodes { id } } } } }";
    expect(await rig.post({ query, operationName: "Small" }, own)).toMatchObject({ status: 200 });
    expect(await rig.post({ query, operationName: "Large" }, own)).toMatchObject({ status: 400 });
  });

  // evidence: graphql-limits-unnamed-operation
  it("is not allowed by omitting the operation name", async () => {
    const query = "query Large { items(first: 100) { nodes { items(first: 100) { nodes { id } } } } }";
    for (const operationName of ["", "large", "__proto__", "Large "]) {
      const { status, body } = await rig.post({ query, operationName }, own);
      expect(status).toBe(400);
      expect(body).not.toHaveProperty("data");
    }
  });
});

function many(count: number, text: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => text(index)).join(" ");
}

/** CPU time of this process in microseconds, which other processes do not use up. */
const MAX_CPU_US = 1_500_000;

describe("a bomb is rejected in bounded CPU time", () => {
  it.each<[name: string, body: unknown]>([
    ["fragments that double", { query: bomb(40) }],
    ["a fragment that spreads itself", { query: "{ item { ...A } } fragment A on Item { next { ...A } }" }],
    [
      "fields nested a thousand deep",
      { query: `{ item { ${"next { ".repeat(5_000)} id ${"}".repeat(5_000)} } }` },
    ],
    ["ten thousand aliases", { query: `{ ${many(10_000, (index) => `a${index}: item { id }`)} }` }],
    ["the same field ten thousand times", { query: `{ ${many(10_000, () => "item { id }")} }` }],
    ["a list nested 40,000 deep", { query: `{ nodes(ids: ${"[".repeat(40_000)}) { id } }` }],
    [
      "variables nested twenty thousand deep",
      `{"query":"query ($i: [ID!]!) { nodes(ids: $i) { id } }","variables":{"i":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`,
    ],
    ...[5_000, 15_000].map((levels): [string, string] => [
      `variables of ${levels} objects within each other`,
      `{"query":"query ($f: Filter) { found(filter: $f) { id } }","variables":{"f":${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}}}`,
    ]),
    [
      "an argument of three hundred nested objects",
      { query: `{ found(filter: ${"{not:".repeat(300)}{}${"}".repeat(300)}) { id } }` },
    ],
    [
      "introspection with many aliases",
      {
        query: `{ __schema { types { fields { ${many(7, (index) => `x${index}: type { ...T }`)} } } } } fragment T on __Type { ${many(50, (index) => `y${index}: name`)} }`,
      },
    ],
    [
      "twenty thousand ids",
      { query: "query ($i: [ID!]!) { nodes(ids: $i) { id } }", variables: { i: Array(20_000).fill("a") } },
    ],
    ["six thousand operations", { query: many(6_000, (index) => `query Q${index} { item { id } }`) }],
    ["ten thousand directives", { query: `{ item ${"@include(if: true) ".repeat(10_000)} { id } }` }],
    [
      "branching introspection",
      {
        query: `{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }`,
      },
    ],
    ["a long meaningless text", { query: "{".repeat(40_000) }],
  ])("for %s", async (_name, body) => {
    const before = process.cpuUsage();
    const response = await rig.post(body, own);
    const { user, system } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(MAX_CPU_US);
    expect(response.status).toBe(400);
    expect(JSON.stringify(response.body).length).toBeLessThan(100_000);
    expect(response.body.errors.length).toBeGreaterThan(0);
  });

  // evidence: graphql-limits-allow-normal-operations
  it("is not confused with operations within the limits", async () => {
    const query = `{ ${"item { id name } ".repeat(100)} }`;
    expect(await askTwice(query)).toMatchObject({ status: 200, body: { extensions: { cost: 1 } } });
    const deep = await askTwice(`{ item { ${nested(8)} } }`);
    expect(deep.status).toBe(200);
    expect(await askTwice(bomb(9))).toMatchObject({ status: 200, body: { extensions: { cost: 511 } } });
  });
});

// evidence: introspection-rate-limit-per-network
it("introspection without a key is limited by network: an IPv6 /64 counts as one", async () => {
  const env = { RATE_LIMITS: "on", TRUST_PROXY: "1" };
  await using limited = await startGraphqlFixture({ typeDefs, env, clock: createFakeClock() });
  const ask = async (address: string): Promise<RawGraphqlResponse> =>
    await limited.post({ query: "{ __schema { description } }" }, { "x-forwarded-for": address });
  const statuses: number[] = [];
  for (let host = 1; host <= 51; host += 1)
    statuses.push((await ask(`2001:db8:0:7::${host.toString(16)}`)).status);
  expect(statuses).toEqual([...Array<number>(50).fill(200), 429]);
  const rejected = await ask("2001:db8:0:7::1");
  expect(rejected.headers.get("retry-after")).toBe("1");
  expect(rejected.body.errors[0].extensions.code).toBe("RATE_LIMITED");
  expect((await ask("2001:db8:0:8::1")).status).toBe(200);
});

describe("a mutation takes one token per root field", () => {
  let limited: GraphqlFixture;
  let changed = 0;
  const change = (): unknown => {
    changed += 1;
    return item;
  };

  beforeAll(async () => {
    const env = { RATE_LIMITS: "on" };
    const resolvers = { Mutation: { change, updateJobs: change, rescheduleJobs: change } };
    limited = await startGraphqlFixture({ typeDefs, resolvers, env, clock: createFakeClock() });
  });
  afterAll(() => limited[Symbol.asyncDispose]());

  /** Returns the number of changes made by an operation with `fields` root fields. */
  const send = async (key: string, name: string, fields: number): Promise<[status: number, made: number]> => {
    changed = 0;
    const query = `mutation { ${many(fields, (index) => `m${index}: ${name} { id }`)} }`;
    const { status, body } = await limited.post({ query }, { "x-api-key": key });
    if (status !== 200) expect(body.errors[0].extensions.code).toBe("RATE_LIMITED");
    return [status, changed];
  };

  it.each([
    ["change", [10, 10, 10, 10, 10]],
    ["updateJobs", [6, 4]],
    ["rescheduleJobs", [6, 4]],
  ] as const)("with %s", async (name, batches) => {
    const key = await limited.newKey();
    for (const fields of batches) expect(await send(key, name, fields)).toEqual([200, fields]);
    expect(await send(key, name, 1)).toEqual([429, 0]);
  });

  it("or takes none and changes nothing if there are too few", async () => {
    const key = await limited.newKey();
    expect(await send(key, "updateJobs", 6)).toEqual([200, 6]);
    expect(await send(key, "updateJobs", 5)).toEqual([429, 0]);
    expect(await send(key, "updateJobs", 4)).toEqual([200, 4]);
  });

  it("of the class of each field", async () => {
    const key = await limited.newKey();
    expect(await send(key, "updateJobs", 10)).toEqual([200, 10]);
    expect(await send(key, "change", 10)).toEqual([200, 10]);
    expect(await send(key, "change", 1)).toEqual([200, 1]);
    expect(await send(key, "change { id } b: updateJobs", 1)).toEqual([429, 0]);
  });

  it("takes all tokens or none, also from buckets in PostgreSQL", async () => {
    const store = createPostgresStore(rig.readDatabase);
    const slow = { perSecond: 0.001, burst: 10 };
    const take = async (id: string, count: number) =>
      (await store.take([{ id, limit: slow }], count))[0]?.allowed;
    const [one, another] = [randomUUID(), randomUUID()];
    const allowed: (boolean | undefined)[] = [];
    for (const count of [6, 5, 4, 1]) allowed.push(await take(one, count));
    for (const count of [11, 10, 1]) allowed.push(await take(another, count));
    expect(allowed).toEqual([true, false, true, false, false, true, false]);
  });
});
