/** GET /v1/jobs/stats counts the jobs that GET /v1/jobs lists. */
import { beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { expectData, expectProblems } from "../support/app/assertions.ts";
import { listJobs } from "../support/app/job-client.ts";

const { app, agent, contractor } = useSharedApp();
let numbers: string[];

const statuses = ["pending", "failed", "completed"];
const JOBS = 24;

beforeAll(async () => {
  const jobs = Array.from({ length: JOBS }, (_, index) => ({
    ...(index % 3 > 0 && { contractor }),
    ...(index % 4 > 0 && { providerStatus: "DEX, 03" }),
    patch: {
      normalized_status: statuses[index % 3] ?? "",
      failure_reason: index % 3 === 1 ? "wrong_incomplete_address" : null,
      batch_number: index % 4 === 0 ? null : `B-${index % 4}`,
      group_code: index % 2 === 0 ? "EAST-2" : "WEST,1",
      postal_code: `0189${index % 5}`,
      recipient_name: index % 6 === 0 ? "Harbour Office" : null,
      scheduled_date: index % 5 === 0 ? null : `2026-11-2${index % 5}`,
      piece_quantity: index + 1,
      weight: index % 7 === 0 ? null : index / 2,
    },
  }));
  numbers = await app.createJobs(agent, jobs);
  await app.createJobs(await app.createOrganization("agent"), [{}, {}]);
  await app.database.query(sql`
    update job set updated_at = '2026-06-01T23:59:59.999Z'::timestamptz + (piece_quantity % 3) * interval '1 ms',
      created_at = '2026-05-01T23:59:59.999Z'::timestamptz + (piece_quantity % 3) * interval '1 ms'
    where marking_number = any(${numbers})`);
});

interface Group {
  keys: { key: string; value: string | null; label: string | null }[];
  count: number;
  piece_quantity?: number | null;
  weight?: number | null;
}

async function statsOf({ key }: TestOrganization, query: Record<string, string>) {
  const response = await app.call(`/v1/jobs/stats?${new URLSearchParams(query)}`, { key });
  return expectData(response) as { total: number; groups: Group[]; truncated: boolean };
}

interface ListedJob extends Record<string, unknown> {
  piece_quantity: number | null;
  weight: number | null;
}

async function listed(reader: TestOrganization, query: Record<string, string>) {
  const parameters = new URLSearchParams({ ...query, page_size: "100" }).toString();
  const { items, pagination } = expectData(await listJobs(app, reader, parameters));
  return { items: items as ListedJob[], total: pagination.total as number };
}

const sumOf = (values: readonly (number | null)[]): number | null => {
  const given = values.filter((value) => value !== null);
  return given.length === 0 ? null : given.reduce((sum, value) => sum + value, 0);
};

/** A value of each filter that some jobs match and others don't. */
const filters = {
  marking_number: () => numbers[4] ?? "",
  batch_number: () => "B-2",
  normalized_status: () => "failed",
  updated_at_from: () => "2026-06-02",
  updated_at_to: () => "2026-06-01",
  scheduled_date_from: () => "2026-11-23",
  scheduled_date_to: () => "2026-11-22",
  updated_since: () => "2026-06-02T00:00:00.001Z",
  failure_reason: () => "wrong_incomplete_address",
  group_code: () => "WEST,1",
  category: () => "attention,success",
  contractor_id: () => toTypedId("org", contractor.id),
  created_at_from: () => "2026-05-02",
  created_at_to: () => "2026-05-01",
  provider_status: () => "DEX, 03",
  q: () => "harbour",
} satisfies Record<string, () => string>;
const names = Object.keys(filters) as (keyof typeof filters)[];

it.each(names)("the filter %s counts the jobs that the list returns", async (name) => {
  const query = { [name]: filters[name]() };
  for (const reader of [agent, contractor]) {
    const { total, items } = await listed(reader, query);
    const counted = await statsOf(reader, { ...query, group_by: "batch_number" });
    expect(counted.total).toBe(total);
    expect(sumOf(counted.groups.map(({ count }) => count)) ?? 0).toBe(items.length);
  }
  const { total } = await listed(agent, query);
  expect(total).toBeGreaterThan(0);
  expect(total).toBeLessThan(JOBS);
});

describe("group_by and sums", () => {
  it("can be repeated or separated by commas", async () => {
    const path = "/v1/jobs/stats?group_by=batch_number";
    const repeated = await app.call(`${path}&group_by=category&sums=weight&sums=piece_quantity`, {
      key: agent.key,
    });
    const joined = await app.call(`${path},category&sums=weight,piece_quantity`, { key: agent.key });
    expect(expectData(repeated)).toEqual(expectData(joined));
  });

  it.each<[string, Record<string, string>, string[]]>([
    ["three keys", { group_by: "batch_number,category,agent_id" }, ["group_by"]],
    ["the same key twice", { group_by: "category,category" }, ["group_by"]],
    ["an unknown key and sum", { group_by: "colour", sums: "pts" }, ["group_by[0]", "sums[0]"]],
    ["an empty key", { group_by: "category," }, ["group_by[1]"]],
    [
      "an unknown status and a malformed date",
      { normalized_status: "lost", updated_at_from: "today" },
      ["normalized_status", "updated_at_from"],
    ],
  ])("400 for %s", async (_what, query, fields) => {
    const response = await app.call(`/v1/jobs/stats?${new URLSearchParams(query)}`, { key: agent.key });
    expectProblems(response, "query", fields);
  });
});
