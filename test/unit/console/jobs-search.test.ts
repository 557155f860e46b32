import { describe, expect, it } from "vitest";
import { parseSearch, stringifySearch } from "../../../src/console/app/search-params.ts";
import { exportPath } from "../../../src/console/pages/jobs/list/export-url.ts";
import {
  jobsListVariables,
  pageVariables,
  toFilter,
  toggleSort,
} from "../../../src/console/pages/jobs/filters/jobs.variables.ts";
import {
  updateSearch,
  hasJobFilters,
  parseJobsSearch,
  savedViewQuery,
  clearFilters,
} from "../../../src/console/pages/jobs/filters/jobs.search.ts";

// A Saturday.
const NOW = { today: "2026-11-21", zone: "UTC", nowMs: Date.parse("2026-11-21T10:20:30.400Z") };

const read = (query: string) => parseJobsSearch(parseSearch(query));

const variables = (query: string) => pageVariables(read(query), jobsListVariables(read(query), NOW));

describe("the jobs table's query string", () => {
  it("round-trips", () => {
    const query =
      "?q=WM-1&status=failed&status=on_hold&category=ATTENTION&reason=other&due_from=2026-11-01&due_to=2026-11-30&late=true" +
      "&agent=org_01JD0000000000000000000001&contractor=org_01JD0000000000000000000002&contractor=none&postal_code=0493&provider_status=DEX03&created_from=2026-10-01&created_to=2026-10-31&updated=24h&sort=scheduled_date&columns=status&columns=due&size=50";
    expect(stringifySearch({ ...read(query) })).toBe(query);
  });

  it("drops invalid values", () => {
    const query =
      "?category=NOWHERE&due=someday&contractor=someone&created_from=soon&due_from=yesterday&due_to=2026-13-01&late=perhaps&updated=soon&sort=weight&columns=secret&size=7&page=3";
    expect(read(query)).toEqual({});
  });

  it("sets every parameter, because the router keeps the raw value of a missing one", () => {
    expect(Object.keys(parseJobsSearch({}))).toEqual(
      expect.arrayContaining(["category", "updated", "size", "sort", "due_from", "columns", "after"]),
    );
  });

  it.each([
    ["has either a relative due day or dates", "?due=week&due_from=2026-11-01", { due: "week" }],
    ["omits defaults", "?sort=-created_at&size=25", {}],
    ["has at most one cursor", "?after=a&before=b", { after: "a" }],
  ])("%s", (_rule, query, search) => {
    expect(read(query)).toEqual(search);
  });

  it("goes back to the first page when a filter changes", () => {
    expect(updateSearch(read("?q=a&after=c"), { q: "b" })).toEqual({ q: "b" });
    expect(updateSearch(read("?status=failed&before=c"), { status: [] })).toEqual({});
  });

  it("keeps sort order and columns when filters are cleared", () => {
    const search = read("?q=a&late=true&sort=updated_at&columns=due&after=c");
    expect(hasJobFilters(search)).toBe(true);
    expect(clearFilters(search)).toEqual({ sort: "updated_at", columns: ["due"] });
    expect(hasJobFilters(clearFilters(search))).toBe(false);
  });

  it("identifies a view independent of parameter order and page", () => {
    expect(savedViewQuery({ status: ["failed"], q: "a", after: "c" })).toBe("q=a&status=failed");
    expect(savedViewQuery(read("?q=a&view=viw_01JXNXS9GZ3K4M5N6P7Q8R9S0T&job=x"))).toBe("q=a");
    expect(savedViewQuery(read("?columns=due&columns=status"))).toBe(
      savedViewQuery(read("?columns=status&columns=due")),
    );
  });
});

describe("the jobs table's API variables", () => {
  it("have no filter by default", () => {
    expect(toFilter({}, NOW)).toBeNull();
  });

  it("map each filter to the API", () => {
    expect(
      toFilter(
        read(
          "?q=a&status=failed&category=OPEN&reason=other&late=true&agent=org_01JD0000000000000000000001&postal_code=04&provider_status=DEX03&due_from=2026-11-01",
        ),
        NOW,
      ),
    ).toEqual({
      search: "a",
      normalizedStatus: { in: ["failed"] },
      statusCategory: ["OPEN"],
      failureReason: { in: ["other"] },
      isLate: true,
      agentId: ["org_01JD0000000000000000000001"],
      postalCode: { startsWith: "04" },
      providerStatus: { eq: "DEX03" },
      dueDate: { gte: "2026-11-01" },
    });
  });

  it.each([
    ["yesterday", "2026-11-21", "2026-11-20", "2026-11-20"],
    ["today", "2026-11-21", "2026-11-21", "2026-11-21"],
    ["tomorrow", "2026-12-31", "2027-01-01", "2027-01-01"],
    ["week", "2026-11-21", "2026-11-16", "2026-11-22"],
    ["week", "2026-11-22", "2026-11-16", "2026-11-22"],
    ["week", "2026-11-23", "2026-11-23", "2026-11-29"],
  ] as const)("count %s from %s", (due, today, gte, lte) => {
    expect(toFilter({ due }, { ...NOW, today })).toEqual({ dueDate: { gte, lte } });
  });

  it("have the days of creation in the organisation's time zone", () => {
    const search = { created_from: "2026-11-01", created_to: "2026-11-02" };
    expect(toFilter(search, { ...NOW, zone: "Pacific/Auckland" })).toEqual({
      createdAt: { gte: "2026-10-31T11:00:00.000Z", lt: "2026-11-02T11:00:00.000Z" },
    });
  });

  it("find jobs without a contractor, alone or besides those of some", () => {
    expect(toFilter({ contractor: ["none"] }, NOW)).toEqual({ hasContractor: false });
    expect(toFilter({ contractor: ["org_1", "none"] }, NOW)).toEqual({
      or: [{ hasContractor: false }, { contractorId: ["org_1"] }],
    });
  });

  it("round relative periods to the minute", () => {
    expect(toFilter({ updated: "24h" }, NOW)).toEqual({ updatedAt: { gte: "2026-11-20T10:20:00.000Z" } });
  });

  it("page forward from the start or a cursor, and backward from a cursor", () => {
    const orderBy = { field: "CREATED_AT", direction: "DESC" };
    expect(variables("")).toEqual({ filter: null, orderBy, first: 25 });
    expect(variables("?after=c&size=100")).toEqual({ filter: null, orderBy, first: 100, after: "c" });
    expect(variables("?before=c")).toEqual({ filter: null, orderBy, last: 25, before: "c" });
  });

  it("reverse the current column, and start a new column with its usual direction", () => {
    expect(toggleSort("-created_at", "created_at")).toBe("created_at");
    expect(toggleSort("created_at", "created_at")).toBe("-created_at");
    expect(toggleSort("created_at", "updated_at")).toBe("-updated_at");
    expect(toggleSort("created_at", "scheduled_date")).toBe("scheduled_date");
  });
});

describe("the export URL", () => {
  it("contains the table's filter, if it has one, and order", () => {
    expect(exportPath(jobsListVariables({}, NOW), "live")).not.toContain("filter");

    const listVariables = jobsListVariables(read("?q=a%26b&sort=marking_number"), NOW);
    const url = new URL(exportPath(listVariables, "live"), "http://any/");
    expect(url.pathname).toBe("/console-api/jobs.csv");
    expect(JSON.parse(url.searchParams.get("filter") ?? "")).toEqual({ search: "a&b" });
    expect(JSON.parse(url.searchParams.get("orderBy") ?? "")).toEqual({
      field: "MARKING_NUMBER",
      direction: "ASC",
    });
  });
});
