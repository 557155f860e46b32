/** Due and late in the console, and what a change does to late jobs. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { affectsLateness } from "../../../src/console/pages/jobs/bulk-edit/plan.ts";
import { compareLateness, type LatenessRow } from "../../../src/console/pages/jobs/bulk-edit/lateness.ts";
import { addDays, today, type WithDueDates } from "../../../src/console/pages/jobs/job.due.ts";

const TODAY = "2026-11-29";
const [PAST, NEW] = ["2026-11-20", "2026-12-01"];

const job = (
  scheduledDate: string | null,
  scheduledDeliveryDate: string | null = null,
  category: WithDueDates["status"]["category"] = "OPEN",
): WithDueDates => ({ scheduledDate, scheduledDeliveryDate, status: { category } });

const changed = (before: WithDueDates, after: WithDueDates): LatenessRow => ({
  outcome: "UPDATED",
  before,
  after,
});

afterEach(() => void vi.useRealTimers());

it("today is the date in the time zone, by default in UTC", () => {
  vi.useFakeTimers({ now: new Date("2026-11-29T23:30:00Z") });
  expect([today(), today("Pacific/Auckland"), today("America/Los_Angeles")]).toEqual([
    TODAY,
    "2026-11-30",
    TODAY,
  ]);
});

it("a day can be moved across months", () => {
  expect([addDays(TODAY, 2), addDays("2026-03-01", -1)]).toEqual(["2026-12-01", "2026-02-28"]);
});

describe("the preview", () => {
  const failed: LatenessRow = { outcome: "FAILED", before: job(PAST), after: null };
  const unseen: LatenessRow = { outcome: "FAILED", before: null, after: null };

  it.each<[string, LatenessRow[], Partial<ReturnType<typeof compareLateness>>]>([
    ["a late job that is moved", [changed(job(PAST), job(NEW))], { noLonger: 1 }],
    ["a late job that is completed", [changed(job(PAST), job(PAST, null, "SUCCESS"))], { noLonger: 1 }],
    [
      "a scheduled date behind a confirmed one",
      [changed(job(PAST, PAST), job(NEW, PAST))],
      { still: 1, reasons: [{ reason: "the confirmed date decides, and it is before today", count: 1 }] },
    ],
    [
      "a new date before today",
      [changed(job(PAST), job("2026-11-28")), changed(job(NEW), job(PAST))],
      { still: 1, newly: 1, reasons: [{ reason: "due before today", count: 2 }] },
    ],
    ["a rejected change", [failed], { still: 1, reasons: [{ reason: "can’t be changed", count: 1 }] }],
    ["a job that is not visible", [unseen], {}],
    ["a finished job", [changed(job(PAST, null, "RETURN"), job(PAST, null, "RETURN"))], { finished: 1 }],
  ])("counts %s", (_what, rows, expected) => {
    const nothing = { noLonger: 0, newly: 0, still: 0, finished: 0, reasons: [] };
    expect(compareLateness(rows, TODAY)).toEqual({ ...nothing, ...expected });
  });

  it("is for changes of a date or the status", () => {
    const edits = [
      { scheduledDate: NEW },
      { scheduledDeliveryDate: null },
      { normalizedStatus: "completed" },
    ];
    expect(edits.every((patch) => affectsLateness({ kind: "edit", patch }))).toBe(true);
    expect(affectsLateness({ kind: "reschedule", dueDate: NEW, confirmed: false })).toBe(true);
    expect(affectsLateness({ kind: "edit", patch: { labels: "new" } })).toBe(false);
  });
});
