/** Job statistics, compared with sums computed in TypeScript. */
import { beforeAll, describe, expect, it } from "vitest";
import type { JobFilterTree } from "../../../src/jobs/list/filter.sql.ts";
import {
  allGroupKeys,
  jobStats,
  type GroupKey,
  type JobStatsGroup,
} from "../../../src/jobs/counters/stats.sql.ts";
import { AppError } from "../../../src/core/errors.ts";
import {
  canSee,
  openJobReadFixture,
  principalNames,
  useJobReadFixture,
  type JobReadFixture,
  type JobTableRow,
} from "../../support/jobs/read.fixture.ts";

const reads = useJobReadFixture();
let jobs: JobTableRow[];

const statuses = {
  pending: ["open", "Pending"],
  assigned: ["open", "Assigned"],
  failed: ["attention", "Delivery failed"],
  completed: ["success", "Completed"],
} as const;

const some = <Value>(values: readonly Value[], index: number): Value =>
  values[index % values.length] as Value;

beforeAll(async () => {
  const { agent, otherAgent, contractor, otherContractor } = reads;
  jobs = await reads.insert(
    Array.from({ length: 80 }, (_, index) => ({
      agent_id: some([agent, agent, otherAgent], index).organizationId,
      contractor_id: some([contractor.organizationId, null, otherContractor.organizationId, null], index),
      normalized_status: some(Object.keys(statuses), index * index),
      failure_reason: some([null, "other", "unknown"], index),
      batch_number: some(["B-1", "b-1", "", null], index * 3),
      group_code: some(["G", null], index),
      postal_code: some(["1", "2", "10", null, "é"], index),
      scheduled_date: some([null, "2026-05-01", "0001-01-01", "9999-12-31"], index),
      piece_quantity: some([null, 1, 2_147_483_647], index),
      weight: some([null, 0.5, -2.25, 8], index),
      created_at: `2026-05-0${1 + (index % 3)}T${index % 2 === 0 ? "00:00:00.000" : "23:59:59.999"}Z`,
      updated_at: `2026-06-0${1 + (index % 2)}T23:59:59.999Z`,
    })),
  );
});

const valueOf: Record<GroupKey, (job: JobTableRow) => string | null> = {
  STATUS: (job) => job.normalized_status,
  CATEGORY: (job) => statuses[job.normalized_status as keyof typeof statuses][0],
  FAILURE_REASON: (job) => job.failure_reason,
  SCHEDULED_DATE: (job) => job.scheduled_date,
  CREATED_DAY: (job) => job.created_at.slice(0, 10),
  UPDATED_DAY: (job) => job.updated_at.slice(0, 10),
  CONTRACTOR: (job) => job.contractor_id,
  AGENT: (job) => job.agent_id,
  BATCH: (job) => job.batch_number,
  GROUP_CODE: (job) => job.group_code,
  POSTAL_CODE: (job) => job.postal_code,
};

function labelOf(key: GroupKey, value: string | null): string | null {
  if (key === "STATUS") return statuses[value as keyof typeof statuses][1];
  const names = {
    agent: "Agent",
    otherAgent: "Other agent",
    contractor: "Contractor",
    otherContractor: "Other contractor",
  };
  const named = Object.entries(names).find(
    ([name]) => (reads[name as keyof JobReadFixture] as { organizationId?: string }).organizationId === value,
  );
  return named ? named[1] : value;
}

const sumOf = (values: readonly (number | null)[]): number | null => {
  const given = values.filter((value) => value !== null);
  return given.length === 0 ? null : given.reduce((sum, value) => sum + value, 0);
};

const compare = (one: string | null, other: string | null): number => {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
};

function expectedGroups(rows: readonly JobTableRow[], keys: readonly GroupKey[]): JobStatsGroup[] {
  // Without a key there is one group of all jobs, which can be empty.
  const groups =
    keys.length === 0
      ? new Map([["[]", rows]])
      : Map.groupBy(rows, (job) => JSON.stringify(keys.map((key) => valueOf[key](job))));
  return [...groups]
    .map(([text, members]) => {
      const values = JSON.parse(text) as (string | null)[];
      return {
        values,
        labels: values.map((value, index) => labelOf(keys[index] as GroupKey, value)),
        count: members.length,
        pieceQuantity: sumOf(members.map((job) => job.piece_quantity)),
        weight: sumOf(members.map((job) => job.weight)),
      };
    })
    .toSorted((one, other) => {
      const byValue = one.values.map((value, index) => compare(value, other.values[index] ?? null));
      return other.count - one.count || (byValue.find((order) => order !== 0) ?? 0);
    });
}

const all = { groups: true, pieceQuantity: true, weight: true };
const counts = { groups: true, pieceQuantity: false, weight: false };
const conditions: [JobFilterTree, (job: JobTableRow) => boolean][] = [
  [{}, () => true],
  [{ groupCode: { eq: "G" } }, (job) => job.group_code === "G"],
  [{ groupCode: { eq: "none" } }, () => false],
];
const pairs = allGroupKeys.flatMap((one, index) =>
  allGroupKeys.slice(index + 1).map((other) => [other, one]),
);

describe.each(principalNames)("statistics for the %s", (name) => {
  it("are correct without a key, for each key and for each pair of keys", async () => {
    for (const keys of [[], ...allGroupKeys.map((key) => [key]), ...pairs]) {
      for (const [filter, test] of conditions) {
        const rows = jobs.filter((job) => canSee(reads[name], job) && test(job));
        const expected = { total: rows.length, groups: expectedGroups(rows, keys), truncated: false };
        const query = { filter, groupBy: keys, include: all };
        expect(await jobStats(reads.database, reads[name], query)).toEqual(expected);
        const counted = expected.groups.map((group) => ({ ...group, pieceQuantity: null, weight: null }));
        expect(await jobStats(reads.database, reads[name], { ...query, include: counts })).toEqual({
          ...expected,
          groups: counted,
        });
      }
    }
  });

  it("have only the total if groups are not requested", async () => {
    const include = { ...counts, groups: false };
    const query = { filter: {}, groupBy: ["BATCH" as const], include };
    const total = jobs.filter((job) => canSee(reads[name], job)).length;
    expect(await jobStats(reads.database, reads[name], query)).toEqual({
      total,
      groups: [],
      truncated: false,
    });
  });
});

it.each<[string, GroupKey[], string]>([
  ["three keys", ["STATUS", "BATCH", "AGENT"], "too_big"],
  ["duplicate keys", ["BATCH", "BATCH"], "invalid_value"],
])("rejects %s", async (_name, groupBy, code) => {
  const rejected = jobStats(reads.database, reads.agent, { filter: {}, groupBy, include: all });
  const error = await rejected.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(AppError);
  expect((error as AppError).details).toMatchObject([{ field: "groupBy", code }]);
});

it.each<[string, number[], number | null]>([
  ["0.1 and 0.2", [0.1, 0.2], 0.3],
  ["many hundredths", Array.from({ length: 10_000 }, () => 0.01), 100],
  ["weights of the demo", [2_697.7, 0.1], 2_697.8],
  ["a weight with all its digits", [9_007_199_254_740_992, 0], 9_007_199_254_740_992],
  ["opposite weights", [1.7e308, 0.5, -1.7e308], 0.5],
  ["the largest weight", [Number.MAX_VALUE, 5e-324], Number.MAX_VALUE],
  ["no double", [1.7e308, 1.7e308], null],
  ["no double, below zero", [-1.7e308, -1.7e308], null],
])("sums weights as decimal numbers: %s", async (_title, weights, sum) => {
  await using own = await openJobReadFixture();
  await own.insert(weights.map((weight) => ({ weight, batch_number: "B" })));
  const { groups } = await jobStats(own.database, own.agent, {
    filter: {},
    groupBy: ["BATCH"],
    include: all,
  });
  expect(groups[0]?.weight).toBe(sum);
});

it("returns the 1,000 largest groups, sets truncated, and counts all jobs in the total", async () => {
  const batches = Array.from({ length: 1_003 }, (_, index) => `T-${String(index).padStart(4, "0")}`);
  const twice = batches.slice(-2);
  await using own = await openJobReadFixture();
  await own.insert([...batches, ...twice].map((batch_number) => ({ batch_number, group_code: "many" })));
  const query = { filter: { groupCode: { eq: "many" } }, groupBy: ["BATCH"], include: all } as const;
  const { total, groups, truncated } = await jobStats(own.database, own.agent, query);
  expect({ total, truncated }).toEqual({ total: 1_005, truncated: true });
  expect(groups.map((group) => group.values[0])).toEqual([...twice, ...batches.slice(0, 998)]);
  const fewer = { ...query, filter: { ...query.filter, batchNumber: { in: batches.slice(0, 100) } } };
  expect(await jobStats(own.database, own.agent, fewer)).toMatchObject({ total: 100, truncated: false });
});
