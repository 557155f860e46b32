/** Looking up jobs and counting them have the same results and refusals in REST and GraphQL. */
import { beforeAll, describe, expect, it } from "vitest";
import { groupNames } from "../../src/jobs/counters/operations.ts";
import type { NewKey } from "../../src/api-keys/changes.ts";
import { snakeCase } from "../../src/core/names.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import {
  expectSameData,
  expectSameEffect,
  expectSameRefusal,
  runBoth,
  type ParityAction,
  type ParityFixture,
} from "../support/app/parity.ts";
import { inRestForm } from "../support/webhooks/webhook-parity.fixture.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});

interface JobsFixture extends ParityFixture {
  /** Marking Numbers of the organisation's jobs, and of one of another organisation. */
  numbers: readonly string[];
  foreign: string;
}
type Action = ParityAction<JobsFixture>;

const CREATED = "2026-05-01T10:00:00Z";
const UPDATED = "2026-06-02T10:00:00Z";

const patches = [
  {
    batch_number: "B-1",
    group_code: "EAST-2",
    normalized_status: "failed",
    failure_reason: "wrong_incomplete_address",
    scheduled_date: "2026-07-01",
    postal_code: "018989",
    piece_quantity: 3,
    weight: 2.5,
  },
  { batch_number: "B-1", normalized_status: "completed", scheduled_date: "2026-07-02", piece_quantity: 4 },
  { batch_number: "B-2", recipient_name: "Harbour Office", weight: 1 },
];

/** By their options. Reading changes nothing, so all tests and both interfaces read the same organisations. */
const fixtures: Record<string, Promise<JobsFixture>> = {};

function setUp(key: Partial<NewKey> = {}, type: "agent" | "contractor" = "agent"): Action["setUp"] {
  return async () => await (fixtures[JSON.stringify([key, type])] ??= create(key, type));
}

async function create(key: Partial<NewKey>, type: "agent" | "contractor"): Promise<JobsFixture> {
  const organization = await app.createOrganization(type, key);
  const other = await app.createOrganization(type === "agent" ? "contractor" : "agent");
  const [agent, contractor]: TestOrganization[] =
    type === "agent" ? [organization, other] : [other, organization];
  const numbers = await app.createJobs(
    agent!,
    patches.map((patch, index) => ({ patch, ...(index < 2 && { contractor: contractor! }) })),
  );
  await app.database.query(sql`
      update job set created_at = ${CREATED}, updated_at = ${UPDATED} where marking_number = any(${numbers})`);
  const [foreign = ""] = await app.createJobs(await app.createOrganization("agent"), [{}]);
  return { organization, numbers, foreign };
}

const JOB_FIELDS = `id markingNumber batchNumber groupCode pieceQuantity labels pts weight recipientName recipientContact
  deliveryAddress postalCode scheduledDate instructions normalizedStatus failureReason scheduledDeliveryDate
  scheduledDeliveryPending providerStatus createdAt updatedAt version`;

function lookUp(numbersOf: (fixture: JobsFixture) => readonly unknown[], set: Action["setUp"]): Action {
  return {
    setUp: set,
    rest: (fixture) => ({
      method: "POST",
      path: "/v1/jobs/lookup",
      body: { marking_numbers: numbersOf(fixture) },
    }),
    graphql: (fixture) => ({
      document: `query ($numbers: [String!]!) { jobsByMarkingNumber(markingNumbers: $numbers) { ${JOB_FIELDS} } }`,
      variables: { numbers: numbersOf(fixture) },
    }),
  };
}

describe("looking up jobs", () => {
  it.each<[string, Action["setUp"], (fixture: JobsFixture) => string[]]>([
    [
      "an agent's, in another order and twice",
      setUp(),
      ({ numbers }) => [...numbers.toReversed(), ...numbers],
    ],
    ["a contractor's, with one that it can't see", setUp({}, "contractor"), ({ numbers }) => [...numbers]],
    ["unknown, or another organisation's", setUp(), ({ numbers, foreign }) => ["NONE", foreign, ...numbers]],
    ["100", setUp(), ({ numbers }) => Array.from({ length: 100 }, (_, at) => numbers[at % 3] ?? "")],
  ])("returns the same: %s", async (_what, set, numbersOf) => {
    const { rest, graphql } = await expectSameEffect(app, lookUp(numbersOf, set));
    const { items } = rest.response.body.data;
    expectSameData(items, inRestForm(graphql.response.data.jobsByMarkingNumber));
    expect(items).toHaveLength(numbersOf(rest.fixture).length);
    expect(items.filter(Boolean).length).toBeGreaterThan(0);
  });

  it("400 for 101 numbers in both, with each interface's own path", async () => {
    const numbers = Array.from({ length: 101 }, (_, at) => `MN-${at}`);
    const both = await runBoth(
      app,
      lookUp(() => numbers, setUp()),
    );
    expect(both.rest.response.status).toBe(400);
    expect([both.rest.refusal?.code, both.graphql.refusal?.code]).toEqual(["invalid", "invalid"]);
    for (const { refusal } of [both.rest, both.graphql])
      expect(refusal?.messages).toEqual([expect.stringMatching(/must have [01] to 100 items, got 101$/)]);
  });

  it("400 for no number, only in REST: GraphQL returns an empty list", async () => {
    const both = await runBoth(
      app,
      lookUp(() => [], setUp()),
    );
    expect(both.rest.refusal?.messages).toEqual(["markingNumbers must have 1 to 100 items, got 0"]);
    expect(both.graphql.response.data).toEqual({ jobsByMarkingNumber: [] });
  });

  it("400 for a number that is no text in both, with each interface's own message", async () => {
    const both = await runBoth(
      app,
      lookUp(() => [5], setUp()),
    );
    expect(both.rest.response.status).toBe(400);
    expect(both.graphql.refusal?.code).toBe("invalid");
  });

  it("403 is for the same reason: a key without jobs:read", async () => {
    const set = setUp({ scopes: ["jobs:write", "webhooks:manage"] });
    const { rest } = await expectSameRefusal(
      app,
      lookUp(({ numbers }) => numbers, set),
      "forbidden",
    );
    expect(rest.response.status).toBe(403);
  });
});

/** GraphQL's name of each group. */
const graphqlGroups: Record<(typeof groupNames)[number], string> = {
  normalized_status: "STATUS",
  category: "CATEGORY",
  failure_reason: "FAILURE_REASON",
  scheduled_date: "SCHEDULED_DATE",
  created_day: "CREATED_DAY",
  updated_day: "UPDATED_DAY",
  contractor_id: "CONTRACTOR",
  agent_id: "AGENT",
  batch_number: "BATCH",
  group_code: "GROUP_CODE",
  postal_code: "POSTAL_CODE",
};
type GroupName = keyof typeof graphqlGroups;

interface Stats {
  groups?: readonly GroupName[];
  sums?: readonly ("piece_quantity" | "weight")[];
  /** A list parameter of REST, and the same filter of GraphQL. */
  parameter?: [string, string];
  filter?: object;
}

const graphqlSums = { piece_quantity: "pieceQuantity", weight: "weight" };

function stats({ groups = [], sums = [], parameter, filter = {} }: Stats, set: Action["setUp"]): Action {
  const query = new URLSearchParams({
    ...(groups.length > 0 && { group_by: groups.join(",") }),
    ...(sums.length > 0 && { sums: sums.join(",") }),
    ...(parameter && { [parameter[0]]: parameter[1] }),
  });
  return {
    setUp: set,
    rest: () => ({ path: `/v1/jobs/stats?${query}` }),
    graphql: () => ({
      document: `query ($filter: JobFilter, $groupBy: [JobGroupKey!]!) { jobStats(filter: $filter, groupBy: $groupBy) {
        total truncated groups { keys { key value label } count ${sums.map((sum) => graphqlSums[sum]).join(" ")} } } }`,
      variables: { filter, groupBy: groups.map((name) => graphqlGroups[name]) },
    }),
  };
}

const restGroups = new Map(Object.entries(graphqlGroups).map(([rest, graphql]) => [graphql, rest]));

interface GraphqlStats {
  groups: { keys: { key: string; value: string | null; label: string | null }[] }[];
}

/** GraphQL has its own names of keys, and categories in upper case. */
function statsInRestForm(result: GraphqlStats): object {
  const groups = result.groups.map(({ keys, ...group }) => ({
    keys: keys.map(({ key, value, label }) => ({
      key: restGroups.get(key),
      value: key === "CATEGORY" && value !== null ? value.toLowerCase() : value,
      label,
    })),
    ...Object.fromEntries(Object.entries(group).map(([name, value]) => [snakeCase(name), value])),
  }));
  return { ...result, groups };
}

async function expectSameStats(action: Action) {
  const { rest, graphql } = await expectSameEffect(app, action);
  expectSameData(rest.response.body.data, statsInRestForm(graphql.response.data.jobStats));
  return rest.response.body.data as { total: number; groups: unknown[] };
}

describe("counting jobs", () => {
  it.each(groupNames)("returns the same groups by %s, with and without sums", async (name) => {
    for (const sums of [[], ["piece_quantity", "weight"]] as const) {
      const { total, groups } = await expectSameStats(stats({ groups: [name], sums }, setUp()));
      expect(total).toBe(patches.length);
      expect(groups.length).toBeGreaterThan(0);
    }
  });

  it("returns the same groups by two keys, and the same for a contractor", async () => {
    const request = { groups: ["contractor_id", "normalized_status"], sums: ["weight"] } as const;
    expect((await expectSameStats(stats(request, setUp()))).groups).toHaveLength(3);
    expect((await expectSameStats(stats(request, setUp({}, "contractor")))).groups).toHaveLength(2);
  });

  it("returns the same total without groups", async () => {
    expect(await expectSameStats(stats({}, setUp()))).toMatchObject({ total: 3, groups: [{ keys: [] }] });
  });

  it.each<[string, string, object, number]>([
    ["batch_number", "B-1", { batchNumber: { eq: "B-1" } }, 2],
    ["group_code", "EAST-2", { groupCode: { eq: "EAST-2" } }, 1],
    ["normalized_status", "failed", { normalizedStatus: { eq: "failed" } }, 1],
    ["failure_reason", "wrong_incomplete_address", { failureReason: { eq: "wrong_incomplete_address" } }, 1],
    ["marking_number", "NONE", { markingNumber: { eq: "NONE" } }, 0],
    ["updated_at_from", "2026-06-02", { updatedAt: { gte: "2026-06-02T00:00:00Z" } }, 3],
    ["updated_at_to", "2026-06-01", { updatedAt: { lte: "2026-06-01T23:59:59.999Z" } }, 0],
    ["updated_since", "2026-06-02T10:00:01Z", { updatedAt: { gte: "2026-06-02T10:00:01Z" } }, 0],
    ["scheduled_date_from", "2026-07-02", { scheduledDate: { gte: "2026-07-02" } }, 1],
    ["scheduled_date_to", "2026-07-02", { scheduledDate: { lte: "2026-07-02" } }, 2],
    ["q", "harbour", { search: "harbour" }, 1],
  ])("counts the same jobs with the filter %s", async (name, value, filter, count) => {
    const request: Stats = { groups: ["batch_number"], parameter: [name, value], filter };
    expect((await expectSameStats(stats(request, setUp()))).total).toBe(count);
  });

  it.each<[string, readonly GroupName[]]>([
    ["three keys", ["normalized_status", "batch_number", "category"]],
    ["the same key twice", ["batch_number", "batch_number"]],
  ])("400 is for the same reason: %s", async (_what, groups) => {
    const { rest } = await expectSameRefusal(app, stats({ groups }, setUp()), "invalid");
    expect(rest.response.status).toBe(400);
  });

  it("400 for an unknown status in both, with each interface's own path", async () => {
    const filter = { normalizedStatus: { eq: "lost" } };
    const both = await runBoth(app, stats({ parameter: ["normalized_status", "lost"], filter }, setUp()));
    expect(both.rest.response.status).toBe(400);
    expect(both.graphql.refusal?.code).toBe("invalid");
    const [restMessage = "", graphqlMessage = ""] = [both.rest, both.graphql].map(
      ({ refusal }) => refusal?.messages[0],
    );
    expect(restMessage).toMatch(/^normalizedStatus is not a known status \("lost"\)/);
    expect(graphqlMessage).toContain('is not a known status ("lost")');
  });

  it("403 is for the same reason: a key without jobs:read", async () => {
    const set = setUp({ scopes: ["jobs:write", "keys:manage"] });
    const { rest } = await expectSameRefusal(app, stats({}, set), "forbidden");
    expect(rest.response.status).toBe(403);
  });
});
