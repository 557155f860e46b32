import { beforeAll, describe, expect, it } from "vitest";
import { sortFields } from "../../src/jobs/list/operations.ts";
import { encodeCursor } from "../../src/core/cursor.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData, expectProblems } from "../support/app/assertions.ts";
import { listJobs, markingNumbersOf, listAllPages } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

interface Row {
  id: string;
  marking_number: string;
  created_at: string;
  updated_at: string;
  scheduled_date: string | null;
}

const { app, agent } = useSharedApp();
let rows: Row[];

const JOBS = 25;
const sorts = sortFields.flatMap((field) => [field, `-${field}`] as const);

beforeAll(async () => {
  // Few different times and dates, for many ties and nulls, also across pages.
  const dates = [null, "2026-01-01", "2026-01-02", null, "9999-12-31"];
  await app.createJobs(
    agent,
    Array.from({ length: JOBS }, (_, index) => ({
      patch: { scheduled_date: dates[index % dates.length] ?? null },
    })),
  );
  await app.database.query(sql`
    update job set created_at = '2026-05-01Z'::timestamptz + (hashtext(marking_number) % 4) * interval '1 ms',
      updated_at = '2026-06-01Z'::timestamptz + (hashtext(marking_number) % 3) * interval '1 day'
    where agent_id = ${agent.id}`);
  rows = expectData(await listJobs(app, agent, "page_size=100")).items;
});

/** The Marking Numbers in the order of the contract: by the field, then by ID, nulls last in both directions. */
function inOrder(sort: string): string[] {
  const field = sort.replace("-", "") as "created_at" | "updated_at" | "scheduled_date";
  const sign = sort.startsWith("-") ? -1 : 1;
  const compare = (a: string, b: string): number => (a < b ? -sign : a > b ? sign : 0);
  return rows
    .toSorted((a, b) => {
      const [one, other] = [a[field], b[field]];
      if (one === null || other === null)
        return Number(one === null) - Number(other === null) || compare(a.id, b.id);
      return compare(one, other) || compare(a.id, b.id);
    })
    .map((row) => row.marking_number);
}

/** The `Link` header as an object from relation to path. */
function linksOf(headers: Headers): Record<string, string> {
  const links = [...(headers.get("link") ?? "").matchAll(/<([^>]*)>; rel="(\w+)"/g)];
  return Object.fromEntries(links.map(([, url = "", relation = ""]) => [relation, url]));
}

it("has pages of 10 by default, and of at most 100", async () => {
  const { items, pagination } = expectData(await listJobs(app, agent));
  expect(items).toHaveLength(10);
  expect(pagination).toMatchObject({ page: 1, page_size: 10, total: JOBS });
  expect(expectData(await listJobs(app, agent, "page_size=1")).items).toHaveLength(1);
  expect(expectData(await listJobs(app, agent, "page_size=100")).items).toHaveLength(JOBS);
});

it.each(sorts)("sort=%s returns each job once across pages, and by cursor", async (sort) => {
  const pages = await Promise.all([1, 2, 3].map((page) => listJobs(app, agent, `sort=${sort}&page=${page}`)));
  expect(pages.flatMap(markingNumbersOf)).toEqual(inOrder(sort));
  expect(await listAllPages(app, agent, `sort=${sort}&page_size=10`)).toEqual(inOrder(sort));
});

it.each([
  ["", JOBS],
  ["&normalized_status=pending", JOBS],
  ["&normalized_status=completed", 0],
  ["&scheduled_date_from=9999-01-01", 5],
  ["&q=MN-", JOBS],
])("pages past the end have no items and the right total%s", async (filter, total) => {
  for (const page of [100, 2_147_483_647]) {
    const { items, pagination } = expectData(
      await listJobs(app, agent, `page=${page}&page_size=100${filter}`),
    );
    expect({ items, ...pagination }).toEqual({
      items: [],
      page,
      page_size: 100,
      total,
      next_cursor: null,
    });
  }
});

it("Link leads from the first page to the last", async () => {
  const numbers: string[] = [];
  for (let next: string | undefined = "/v1/jobs?page_size=9"; next;) {
    const response = await app.call(next, { key: agent.key });
    numbers.push(...markingNumbersOf(response));
    next = linksOf(response.headers)["next"];
  }
  expect(numbers).toEqual(inOrder("-created_at"));
});

describe("cursor", () => {
  it("returns order, total and the next page, but no page number", async () => {
    const first = expectData(await listJobs(app, agent, "sort=scheduled_date&page_size=20"));
    const response = await listJobs(app, agent, `page_size=20&cursor=${first.pagination.next_cursor}`);
    expect(markingNumbersOf(response)).toEqual(inOrder("scheduled_date").slice(20));
    expect(expectData(response).pagination).toEqual({ page_size: 20, total: JOBS, next_cursor: null });
    expect(Object.keys(linksOf(response.headers))).toEqual(["first"]);
  });

  it("is null on the last page, even if that is full", async () => {
    const { pagination } = expectData(await listJobs(app, agent, `page_size=5&page=${JOBS / 5}`));
    expect(pagination.next_cursor).toBeNull();
  });

  it("returns 400 together with page or another sort", async () => {
    const { next_cursor: cursor } = expectData(await listJobs(app, agent)).pagination;
    expectProblems(await listJobs(app, agent, `cursor=${cursor}&page=1`), "query", ["page"]);
    expectProblems(await listJobs(app, agent, `cursor=${cursor}&sort=created_at`), "query", ["sort"]);
    expectData(await listJobs(app, agent, `cursor=${cursor}&sort=-created_at`));
  });

  it("returns 400 if it belongs to another list", async () => {
    const { next_cursor: cursor } = expectData(await app.call("/v1/events?page_size=1", { key: agent.key }));
    expectProblems(await listJobs(app, agent, `cursor=${encodeCursor("events", ["1", "2"])}`), "query", [
      "cursor",
    ]);
    if (cursor) expectProblems(await listJobs(app, agent, `cursor=${cursor}`), "query", ["cursor"]);
  });
});
