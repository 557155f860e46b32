/** The numbers of today, compared with the lists that they link to and with counts in TypeScript, with a fixed clock. */
import { beforeAll, describe, expect, it } from "vitest";
import { addDays, dueDay, today } from "../../../src/console/pages/jobs/job.due.ts";
import type { Transaction } from "../../../src/core/postgres/transaction.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { jobsToday, type TodayCounts } from "../../../src/jobs/counters/today.sql.ts";
import type { JobFilterTree } from "../../../src/jobs/list/filter.sql.ts";
import { listJobs } from "../../../src/jobs/list/list.sql.ts";
import {
  canSee,
  principalNames,
  useJobReadFixture,
  type JobTableRow,
} from "../../support/jobs/read.fixture.ts";

/** The 29th in UTC and in Los Angeles, the 30th in Auckland. */
const NOW = "2026-11-29T12:00:00.000Z";
const DAY = "2026-11-29";
const zones = ["UTC", "Pacific/Auckland", "America/Los_Angeles"] as const;
const statuses = ["pending", "in_transit", "completed", "failed", "on_hold", "returning", "cancelled"];
const viewers = [...principalNames, "testAgent"] as const;

const reads = useJobReadFixture();
let jobs: JobTableRow[];

const some = <Value>(values: readonly Value[], index: number): Value =>
  values[index % values.length] as Value;

beforeAll(async () => {
  const { agent, otherAgent, contractor, otherContractor, testAgent } = reads;
  const days = [-2, -1, 0, 1].map((offset) => addDays(DAY, offset));
  jobs = await reads.insert(
    Array.from({ length: 420 }, (_, index) => ({
      agent_id: some([agent, agent, otherAgent, testAgent, agent], index).organizationId,
      contractor_id: some([contractor.organizationId, null, otherContractor.organizationId, null], index * 3),
      normalized_status: some(statuses, index),
      scheduled_date: some([...days, null], index * index + (index >> 3)),
      scheduled_delivery_date: some([null, null, ...days], index >> 1),
    })),
  );
});

/** The filters that the console links to. */
const linked = (day: string): Record<keyof TodayCounts, JobFilterTree> => ({
  due: { dueDate: { gte: day, lte: day } },
  toDo: { dueDate: { gte: day, lte: day }, statusCategory: ["open", "in_progress"] },
  done: { dueDate: { gte: day, lte: day }, statusCategory: ["success"] },
  attention: { dueDate: { gte: day, lte: day }, statusCategory: ["attention"] },
  late: { isLate: true },
});
const names = Object.keys(linked(DAY)) as (keyof TodayCounts)[];

/** The totals of the lists that a board of `day` links to, of the jobs that `whose` selects. */
async function listed(tx: Transaction, principal: Principal, day: string, whose: JobFilterTree = {}) {
  const totals: Record<string, number | null> = {};
  for (const [name, filter] of Object.entries(linked(day))) {
    const { total } = await listJobs(tx, principal, {
      filter: { ...filter, ...whose },
      order: { field: "created_at", descending: true },
      page: { direction: "forward", limit: 1, position: null },
      include: { items: false, total: true },
    });
    totals[name] = total;
  }
  return totals;
}

const due = (job: JobTableRow) =>
  dueDay({ scheduledDate: job.scheduled_date, scheduledDeliveryDate: job.scheduled_delivery_date }) ?? "9";
const unfinished = new Set(["pending", "in_transit", "failed", "on_hold"]);

function countsOf(rows: readonly JobTableRow[], day: string): TodayCounts {
  const ofToday = rows.filter((job) => due(job) === day);
  const having = (...codes: string[]) =>
    ofToday.filter(({ normalized_status: code }) => codes.includes(code)).length;
  return {
    due: ofToday.length,
    toDo: having("pending", "in_transit"),
    done: having("completed"),
    attention: having("failed", "on_hold"),
    late: rows.filter((job) => due(job) < day && unfinished.has(job.normalized_status)).length,
  };
}

const principalIn = (name: (typeof viewers)[number], timeZone: string): Principal =>
  name === "operator" ? reads.operator : { ...reads[name], timeZone };

describe.each(zones)("in %s", (zone) => {
  it.each(viewers)("%s sees its own jobs, and the linked lists have the same totals", async (name) => {
    const principal = principalIn(name, zone);
    const day = today(name === "operator" ? "UTC" : zone, Date.parse(NOW));
    const seen = jobs.filter(
      (job) =>
        canSee(principal, job) && (name !== "operator" || job.agent_id !== reads.testAgent.organizationId),
    );
    await reads.atTime(NOW, async (tx) => {
      const board = await jobsToday(tx, principal);
      expect(board.day).toBe(day);
      expect(board.total).toMatchObject(countsOf(seen, day));
      expect(board.total).toMatchObject(await listed(tx, principal, day));
      for (const row of board.contractors) {
        const { contractorId: id } = row;
        expect(row).toMatchObject(
          countsOf(
            seen.filter((job) => job.contractor_id === id),
            day,
          ),
        );
        const whose: JobFilterTree = id === null ? { hasContractor: false } : { contractorId: [id] };
        expect(row).toMatchObject(await listed(tx, principal, day, whose));
      }
      const sum = (key: keyof TodayCounts) => board.contractors.reduce((all, row) => all + row[key], 0);
      expect(Object.fromEntries(names.map((key) => [key, sum(key)]))).toEqual(countsOf(seen, day));
    });
  });
});

it("lists the jobs without a contractor first, and then the contractors with most jobs", async () => {
  await reads.insert(
    Array.from({ length: 200 }, () => ({
      contractor_id: reads.otherContractor.organizationId,
      scheduled_date: DAY,
      agent_id: reads.outsider.organizationId,
    })),
  );
  const { contractors } = await reads.atTime(NOW, (tx) => jobsToday(tx, reads.operator));
  expect(contractors.map(({ contractorName }) => contractorName)).toEqual([
    null,
    "Other contractor",
    "Contractor",
  ]);
});
