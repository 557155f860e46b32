/** Late jobs and the days of statistics around midnight in four time zones, with a fixed clock. */
import { beforeAll, describe, expect, it } from "vitest";
import { addDays, startOfDay, today } from "../../../src/console/pages/jobs/job.due.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { jobStats } from "../../../src/jobs/counters/stats.sql.ts";
import { filterToSql } from "../../../src/jobs/list/filter.sql.ts";
import { useJobReadFixture } from "../../support/jobs/read.fixture.ts";

/** A day, and its first instant. The last two of each time zone follow or precede a change of the clocks. */
const days = [
  ["UTC", "2026-11-29", "2026-11-29T00:00:00.000Z"],
  ["Pacific/Auckland", "2026-11-29", "2026-11-28T11:00:00.000Z"],
  ["Pacific/Auckland", "2026-09-27", "2026-09-26T12:00:00.000Z"],
  ["Pacific/Auckland", "2026-09-28", "2026-09-27T11:00:00.000Z"],
  ["America/Los_Angeles", "2026-11-29", "2026-11-29T08:00:00.000Z"],
  ["America/Los_Angeles", "2026-11-01", "2026-11-01T07:00:00.000Z"],
  ["America/Los_Angeles", "2026-11-02", "2026-11-02T08:00:00.000Z"],
  // The clocks go forward at midnight, so the day begins at 01:00.
  ["Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z"],
] as const;

const millisecondBefore = (instant: string): string => new Date(Date.parse(instant) - 1).toISOString();

const reads = useJobReadFixture();

beforeAll(async () => {
  const instants = days.flatMap(([, , start]) => [millisecondBefore(start), start]);
  await reads.insert([
    ...days.map(([zone, day]) => ({
      marking_number: `due before ${day} in ${zone}`,
      scheduled_date: addDays(day, -1),
    })),
    ...instants.map((created_at) => ({ marking_number: created_at, created_at })),
  ]);
});

/** The late jobs that `principal` sees when PostgreSQL's clock shows `now`. */
async function lateAt(principal: Principal, now: string): Promise<string[]> {
  return await reads.atTime(now, async (tx) => {
    const rows = await tx.query<{ marking_number: string }>(
      sql`select marking_number from job where ${filterToSql({ isLate: true }, principal)}`,
    );
    return rows.map((row) => row.marking_number);
  });
}

const include = { groups: true, pieceQuantity: false, weight: false };
const agentIn = (timeZone: string): Principal => ({ ...reads.agent, timeZone });

/** The groups by day of the job created at this instant. */
async function createdOn(zone: string, createdAt: string) {
  const query = { filter: { markingNumber: { eq: createdAt } }, groupBy: ["CREATED_DAY"] as const, include };
  const { groups } = await jobStats(reads.database, agentIn(zone), query);
  return groups.map(({ values }) => values);
}

describe.each(days)("in %s, %s", (zone, day, start) => {
  const number = `due before ${day} in ${zone}`;

  it("starts at the same instant in the console and in PostgreSQL", async () => {
    expect(startOfDay(day, zone)).toBe(start);
    expect(today(zone, Date.parse(start))).toBe(day);
    expect(today(zone, Date.parse(start) - 1)).toBe(addDays(day, -1));
    expect(await lateAt(agentIn(zone), millisecondBefore(start))).not.toContain(number);
    expect(await lateAt(agentIn(zone), start)).toContain(number);
  });

  it("has the jobs created since its first instant", async () => {
    expect(await createdOn(zone, millisecondBefore(start))).toEqual([[addDays(day, -1)]]);
    expect(await createdOn(zone, start)).toEqual([[day]]);
  });
});

describe("the time zone", () => {
  it("of operators and of an organisation without one is UTC", async () => {
    const [, day, start] = days[1];
    const number = `due before ${day} in Pacific/Auckland`;
    expect(await lateAt(agentIn("Pacific/Auckland"), start)).toContain(number);
    expect(await lateAt(reads.agent, start)).not.toContain(number);
    expect(await lateAt(reads.operator, start)).not.toContain(number);
    expect(await lateAt(reads.operator, `${day}T00:00:00Z`)).toContain(number);
  });

  it("is not that of the counters of days", async () => {
    const query = { filter: {}, groupBy: ["CREATED_DAY"] as const, include };
    const daysOf = async (zone: string) =>
      (await jobStats(reads.database, agentIn(zone), query)).groups.map(({ values }) => values[0]);
    expect(await daysOf("UTC")).toContain("2026-04-23");
    expect(await daysOf("UTC")).not.toContain("2026-04-24");
    expect(await daysOf("Africa/Cairo")).toContain("2026-04-24");
  });
});
