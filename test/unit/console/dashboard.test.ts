import { describe, expect, it } from "vitest";
import {
  categoryCounts,
  commonReasons,
  dashboardVariables,
  daysBetween,
  dueOn,
  trendDays,
} from "../../../src/console/pages/dashboard/dashboard.metrics.ts";
import { buildFeed, prependChange, type FeedChange } from "../../../src/console/pages/dashboard/feed.ts";
import { scaleOf } from "../../../src/console/components/charts/scale.ts";

const group = (value: string | null, count: number) => ({ count, keys: [{ value, label: value }] });

describe("the dashboard's numbers", () => {
  it("include categories without jobs", () => {
    const counts = categoryCounts([group("SUCCESS", 5), group("OPEN", 2)]);
    expect(counts.map(({ count }) => count)).toEqual([2, 0, 0, 5, 0, 0]);
  });

  it("cover the last 30 days up to today, across a month boundary", () => {
    const days = trendDays(
      [group("2026-11-01", 3)],
      [group("2026-10-31", 4), group("2026-09-01", 9)],
      "2026-11-15",
    );
    expect(days).toHaveLength(30);
    expect(days[0]?.day).toBe("2026-10-17");
    expect(days.at(-1)).toEqual({ day: "2026-11-15", created: 0, delivered: 0 });
    expect(days.filter(({ created, delivered }) => created + delivered > 0)).toEqual([
      { day: "2026-10-31", created: 0, delivered: 4 },
      { day: "2026-11-01", created: 3, delivered: 0 },
    ]);
  });

  it("list the most common reasons and count the others", () => {
    expect(commonReasons([group("a", 1), group(null, 3), group("b", 2)], 2)).toEqual({
      shown: [
        { code: null, count: 3 },
        { code: "b", count: 2 },
      ],
      others: 1,
    });
  });

  it("count the days between two dates", () => {
    expect(daysBetween("2026-02-27", "2026-03-01")).toBe(2);
  });

  it("link to the board's day if this browser has another", () => {
    expect(dueOn("2026-11-21", "2026-11-21")).toEqual({ due: "today" });
    expect(dueOn("2026-11-22", "2026-11-21")).toEqual({ due_from: "2026-11-22", due_to: "2026-11-22" });
  });

  it("have an axis that is high enough and has few round steps", () => {
    expect(scaleOf(0)).toEqual({ ticks: [0, 1], top: 1 });
    expect(scaleOf(3)).toEqual({ ticks: [0, 1, 2, 3], top: 3 });
    expect(scaleOf(12_345)).toEqual({ ticks: [0, 5_000, 10_000, 15_000], top: 15_000 });
    for (let max = 0; max < 3_000; max += 7) {
      const { ticks, top } = scaleOf(max);
      expect(top).toBeGreaterThanOrEqual(max);
      expect(ticks.length).toBeLessThanOrEqual(6);
    }
  });

  it("start at midnight of the first day", () => {
    expect(dashboardVariables("2026-11-30", "UTC").createdSince).toEqual({
      createdAt: { gte: "2026-11-01T00:00:00.000Z" },
    });
    expect(dashboardVariables("2026-11-30", "Pacific/Auckland").createdSince).toEqual({
      createdAt: { gte: "2026-10-31T11:00:00.000Z" },
    });
  });
});

const jobOf = (id: string, updatedAt: string) => ({
  id,
  markingNumber: id,
  recipientName: null,
  postalCode: null,
  scheduledDate: null,
  scheduledDeliveryDate: null,
  updatedAt,
  status: { code: "pending", label: "Pending", category: "OPEN" as const },
});
const changeOf = (id: string, occurredAt: string, jobId: string | null): FeedChange => ({
  id,
  type: "JOB_UPDATED",
  sequence: 2,
  occurredAt,
  requestId: null,
  actor: { type: "SYSTEM", id: null },
  changes: [],
  job: jobId === null ? null : jobOf(jobId, occurredAt),
});

describe("recent changes", () => {
  it("list a job's change once, preferring the live event", () => {
    const feed = buildFeed(
      [changeOf("evt_1", "2026-11-21T10:00:00.000Z", "job_1")],
      [jobOf("job_1", "2026-11-21T10:00:00.000Z"), jobOf("job_2", "2026-11-21T09:00:00.000Z")],
    );
    expect(feed.map(({ job, change }) => [job.id, change?.id])).toEqual([
      ["job_1", "evt_1"],
      ["job_2", undefined],
    ]);
  });

  it("include a change whose event was missed", () => {
    const feed = buildFeed(
      [changeOf("evt_1", "2026-11-21T10:00:00.000Z", "job_1")],
      [jobOf("job_1", "2026-11-21T11:00:00.000Z")],
    );
    expect(feed.map(({ at }) => at)).toEqual(["2026-11-21T11:00:00.000Z", "2026-11-21T10:00:00.000Z"]);
  });

  it("omit a job that is no longer visible", () => {
    expect(buildFeed([changeOf("evt_1", "2026-11-21T10:00:00.000Z", null)], [])).toEqual([]);
  });

  it("contain each event once and at most six", () => {
    const changes = Array.from({ length: 20 }, (_, index) =>
      changeOf(`evt_${index}`, "2026-11-21T10:00:00.000Z", "job_1"),
    );
    const recent = changes.reduce<FeedChange[]>(prependChange, []);
    expect(recent).toHaveLength(6);
    expect(prependChange(recent, changes[19]!)).toHaveLength(6);
    expect(recent[0]?.id).toBe("evt_19");
  });
});
