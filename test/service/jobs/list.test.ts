/** Keyset pagination of jobs: forward and backward, in every order. */
import { beforeAll, describe, expect, it } from "vitest";
import type { JobFilterTree } from "../../../src/jobs/list/filter.sql.ts";
import { listJobs, type JobListPage } from "../../../src/jobs/list/list.sql.ts";
import {
  jobCursor,
  jobOrderFields,
  readJobCursor,
  type JobOrder,
  type JobPosition,
} from "../../../src/jobs/list/cursor.ts";
import type { JobRow } from "../../../src/jobs/row.sql.ts";
import { newUuid } from "../../../src/core/ids.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import {
  canSee,
  principalNames,
  useJobReadFixture,
  type JobTableRow,
} from "../../support/jobs/read.fixture.ts";

const reads = useJobReadFixture();
let jobs: JobTableRow[];

const orders = jobOrderFields.flatMap((field) => [
  { field, descending: false },
  { field, descending: true },
]);
type FilterCase = [JobFilterTree, (job: JobTableRow) => boolean];

/** Filters with different plans: by the index of the order, by the index of a range, by neither, and status by status. */
const conditions: FilterCase[] = [
  [{}, () => true],
  [{ updatedAt: { gte: "2026-06-02T00:00:00.000Z" } }, (job) => job.updated_at >= "2026-06-02"],
  [
    { scheduledDate: { isNull: false, gte: "2026-01-02" } },
    (job) => job.scheduled_date !== null && job.scheduled_date >= "2026-01-02",
  ],
  [
    { or: [{ normalizedStatus: { eq: "failed" } }, { scheduledDate: { isNull: true } }] },
    (job) => job.normalized_status === "failed" || job.scheduled_date === null,
  ],
  [
    { normalizedStatus: { in: ["failed", "completed", "failed"] } },
    (job) => job.normalized_status === "failed",
  ],
  [
    { statusCategory: ["open", "attention"], scheduledDate: { isNull: true } },
    (job) => job.scheduled_date === null,
  ],
];

const idsOf = (...organizations: { organizationId: string }[]): string[] =>
  organizations.map(({ organizationId }) => organizationId);

/** Filters by organisation, which have separate plans for an operator. */
function selections(): FilterCase[] {
  const { agent, otherAgent, contractor, otherContractor } = reads;
  const contractorIds = idsOf(contractor, otherContractor);
  const createdAt = "2026-05-01T00:00:00.000Z";
  return [
    [{ agentId: idsOf(otherAgent) }, (job) => canSee(otherAgent, job)],
    [{ agentId: idsOf(agent, otherAgent) }, () => true],
    [{ contractorId: contractorIds }, (job) => contractorIds.includes(job.contractor_id ?? "")],
    [
      { contractorId: idsOf(contractor), agentId: idsOf(agent), createdAt: { gt: createdAt } },
      (job) => canSee(contractor, job) && canSee(agent, job) && job.created_at > createdAt,
    ],
  ];
}

beforeAll(async () => {
  const { agent, otherAgent, contractor, otherContractor } = reads;
  const dates = [null, "2026-01-01", "2026-01-02", null, "9999-12-31", "2026-01-02", "2026-01-02"];
  // Few different times and dates, to get many ties and nulls.
  jobs = await reads.insert(
    Array.from({ length: 40 }, (_, index) => ({
      id: newUuid(index * 7_919 * 1_000),
      marking_number: `MN-${(index * 17) % 40}`,
      agent_id: (index % 4 === 3 ? otherAgent : agent).organizationId,
      contractor_id: [contractor.organizationId, otherContractor.organizationId, null][index % 3] ?? null,
      scheduled_date: dates[index % dates.length] ?? null,
      scheduled_delivery_date: dates[index % 5] ?? null,
      normalized_status: index % 5 === 0 ? "failed" : "pending",
      created_at: `2026-05-01T00:00:00.00${index % 3}Z`,
      updated_at: `2026-06-0${1 + (index % 4)}T00:00:00.000Z`,
    })),
  );
});

/** The ids in the expected order: by the field, then by id, nulls last in both directions. */
function inOrder(rows: readonly JobTableRow[], { field, descending }: JobOrder): string[] {
  const sign = descending ? -1 : 1;
  const valueOf = (row: JobTableRow) =>
    field === "due_date" ? (row.scheduled_delivery_date ?? row.scheduled_date) : row[field];
  const compare = (a: string, b: string): number => (a < b ? -sign : a > b ? sign : 0);
  return rows
    .toSorted((a, b) => {
      const [one, other] = [valueOf(a), valueOf(b)];
      if (one === null || other === null)
        return Number(one === null) - Number(other === null) || compare(a.id, b.id);
      return compare(one, other) || compare(a.id, b.id);
    })
    .map((row) => row.id);
}

interface Walk {
  order: JobOrder;
  direction: "forward" | "backward";
  limit: number;
  filter?: JobFilterTree;
  /** Called between pages. */
  meanwhile?: () => Promise<unknown>;
}

/** Reads all pages, following cursors through their text form. */
async function walk(principal: Principal, { order, direction, limit, filter = {}, meanwhile }: Walk) {
  const pages: JobListPage[] = [];
  let position: JobPosition | null = null;
  for (;;) {
    const page: JobListPage = await listJobs(reads.database, principal, {
      filter,
      order,
      page: { direction, limit, position },
      include: { items: true, total: false },
    });
    pages.push(page);
    const hasMoreAhead = direction === "forward" ? page.hasNext : page.hasPrevious;
    const hasMoreBehind = direction === "forward" ? page.hasPrevious : page.hasNext;
    expect(hasMoreBehind).toBe(position !== null);
    if (!hasMoreAhead) return pages;
    expect(page.items).toHaveLength(limit);
    const edge = page.items.at(direction === "forward" ? -1 : 0) as JobRow;
    position = readJobCursor(jobCursor(order, edge))?.position ?? null;
    expect(position).not.toBeNull();
    await meanwhile?.();
  }
}

/** The ids in the list's order for both directions. */
function listed(pages: readonly JobListPage[], direction: "forward" | "backward"): string[] {
  const inListOrder = direction === "forward" ? pages : pages.toReversed();
  return inListOrder.flatMap((page) => page.items.map((item) => item.id));
}

describe.each(orders)("$field, descending: $descending", (order) => {
  describe.each(["forward", "backward"] as const)("%s", (direction) => {
    it("returns each visible job once and in order for any page size", async () => {
      const expected = inOrder(
        jobs.filter((job) => canSee(reads.agent, job)),
        order,
      );
      for (const limit of [1, 4, 7]) {
        const pages = await walk(reads.agent, { order, direction, limit });
        expect(listed(pages, direction)).toEqual(expected);
        expect(pages).toHaveLength(Math.ceil(expected.length / limit));
      }
    });

    it("returns the matching jobs of each principal for every kind of plan", async () => {
      for (const name of principalNames) {
        for (const [filter, test] of name === "operator" ? [...conditions, ...selections()] : conditions) {
          const matching = jobs.filter((job) => canSee(reads[name], job) && test(job));
          const pages = await walk(reads[name], { order, direction, limit: 6, filter });
          expect(listed(pages, direction)).toEqual(inOrder(matching, order));
        }
      }
    });
  });
});

describe("while jobs change", () => {
  it.each([
    ["created_at", "forward"],
    ["created_at", "backward"],
    ["scheduled_date", "forward"],
    ["updated_at", "forward"],
    ["updated_at", "backward"],
    ["marking_number", "forward"],
  ] as const)("a job with an unchanged %s is listed exactly once, %s", async (field, direction) => {
    const changing = new Set<string>();
    let step = 0;
    const unchanged = jobs.filter((job) => canSee(reads.agent, job));
    const meanwhile = async (): Promise<void> => {
      step += 1;
      // Stop changing jobs, because in the order of updated_at they would be listed forever.
      if (step > 8) return;
      const [added] = await reads.insert([
        {
          created_at: `2026-05-01T00:00:00.00${step % 4}Z`,
          updated_at: `2026-06-0${1 + (step % 4)}T00:00:00.000Z`,
        },
      ]);
      changing.add(added?.id as string);
      await reads.database.query(sql`
        update job set updated_at = now(), scheduled_date = '2026-01-01', created_at = '2026-05-01Z'
        where id = any(${[...changing]}::uuid[])`);
      await reads.database.query(
        sql`update job set weight = ${step} where agent_id = ${reads.agent.organizationId}`,
      );
    };
    const pages = await walk(reads.agent, {
      order: { field, descending: true },
      direction,
      limit: 3,
      meanwhile,
    });
    const ids = listed(pages, direction).filter((id) => !changing.has(id));
    expect(changing.size).toBeGreaterThan(5);
    expect(ids).toEqual(inOrder(unchanged, { field, descending: true }));
    await reads.database.query(sql`delete from job where id = any(${[...changing]}::uuid[])`);
  });
});

const listWithTotal = (
  principal: Principal,
  filter: JobFilterTree,
  include: { items: boolean; limit?: number },
) =>
  listJobs(reads.database, principal, {
    filter,
    order: { field: "created_at", descending: true },
    page: { direction: "forward", limit: include.limit ?? 2, position: null },
    include: { items: include.items, total: true },
  });

it("returns each page of several statuses by its offset", async () => {
  const order: JobOrder = { field: "created_at", descending: true };
  const filter: JobFilterTree = { normalizedStatus: { in: ["failed", "pending", "completed"] } };
  const visible = jobs.filter((job) => canSee(reads.agent, job));
  const ids: string[] = [];
  for (let offset = 0; offset < visible.length; offset += 7) {
    const page = { limit: 7, offset };
    const include = { items: true, total: true };
    const { items } = await listJobs(reads.database, reads.agent, { filter, order, page, include });
    ids.push(...items.map(({ id }) => id));
  }
  expect(ids).toEqual(inOrder(visible, order));
});

describe("totals", () => {
  // Rebuilds the counters, which other tests here change.
  beforeAll(() => reads.insert([]));

  it("are exact for each principal, with and without a page", async () => {
    const cases: FilterCase[] = [
      [{}, () => true],
      [{ normalizedStatus: { eq: "failed" } }, (job) => job.normalized_status === "failed"],
      [{ normalizedStatus: { eq: "completed" } }, () => false],
      [{ normalizedStatus: { isNull: true } }, () => false],
      [{ normalizedStatus: { in: ["failed", "pending"] } }, () => true],
      [{ statusCategory: ["attention", "success"] }, (job) => job.normalized_status === "failed"],
      [{ statusCategory: ["attention"], normalizedStatus: { in: ["pending", "completed"] } }, () => false],
      [{ normalizedStatus: { eq: "failed", in: ["pending"] } }, () => false],
      [
        { normalizedStatus: { eq: "failed" }, scheduledDate: { isNull: true } },
        (job) => job.normalized_status === "failed" && job.scheduled_date === null,
      ],
      ...conditions,
    ];
    for (const name of principalNames) {
      for (const [filter, test] of cases) {
        const total = jobs.filter((job) => canSee(reads[name], job) && test(job)).length;
        const page = await listWithTotal(reads[name], filter, { items: true });
        expect([name, filter, page.total]).toEqual([name, filter, total]);
        expect(page.items).toHaveLength(Math.min(2, total));
        expect(page.hasNext).toBe(total > 2);
        expect(await listWithTotal(reads[name], filter, { items: false })).toMatchObject({
          items: [],
          total,
        });
      }
    }
  });

  it("are returned with an empty page, and are null unless requested", async () => {
    const beyond = { value: "1970-01-01T00:00:00.000Z", id: newUuid() };
    const query = {
      filter: {},
      order: { field: "created_at", descending: true },
      page: { direction: "forward", limit: 5, position: beyond },
    } as const;
    const include = { items: true, total: true };
    const past = await listJobs(reads.database, reads.agent, { ...query, include });
    expect(past).toEqual({ items: [], hasNext: false, hasPrevious: true, total: 30 });
    const withoutTotal = await listJobs(reads.database, reads.agent, {
      ...query,
      include: { ...include, total: false },
    });
    expect(withoutTotal.total).toBeNull();
  });
});

it("lists a job with the names of its organisations", async () => {
  const [{ items } = { items: [] }] = await walk(reads.operator, {
    order: { field: "marking_number", descending: false },
    direction: "forward",
    limit: 100,
  });
  const names = new Map<string | null, string | null>([
    [null, null],
    [reads.agent.organizationId, "Agent"],
    [reads.otherAgent.organizationId, "Other agent"],
    [reads.contractor.organizationId, "Contractor"],
    [reads.otherContractor.organizationId, "Other contractor"],
  ]);
  expect(items).toHaveLength(jobs.length);
  for (const { agent_id: agent, contractor_id: contractor, ...item } of items)
    expect([item.agent_name, item.contractor_name]).toEqual([names.get(agent), names.get(contractor)]);
});
