/** When a job is due and late: SQL and the console agree on every combination of dates and statuses. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { statusCategories } from "../../../src/jobs/reference-data.entity.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { filterToSql, type JobFilterTree } from "../../../src/jobs/list/filter.sql.ts";
import {
  addDays,
  dueDay,
  isLate,
  today,
  type WithDueDates,
} from "../../../src/console/pages/jobs/job.due.ts";
import {
  openJobReadFixture,
  type JobReadFixture,
  type JobTableRow,
} from "../../support/jobs/read.fixture.ts";

const day = today();
const statuses = {
  open: "pending",
  in_progress: "in_transit",
  success: "completed",
  attention: "failed",
  return: "returning",
  cancelled: "cancelled",
} as const satisfies Record<(typeof statusCategories)[number], string>;
const dates = [null, addDays(day, -1), day, addDays(day, 1)];

let reads: JobReadFixture;
let jobs: JobTableRow[];

beforeAll(async () => {
  reads = await openJobReadFixture();
  jobs = await reads.insert(
    Object.values(statuses).flatMap((normalized_status) =>
      dates.flatMap((scheduled_date) =>
        dates.map((scheduled_delivery_date) => ({
          marking_number: `${normalized_status} ${scheduled_date} ${scheduled_delivery_date}`,
          normalized_status,
          scheduled_date,
          scheduled_delivery_date,
        })),
      ),
    ),
  );
});
afterAll(() => reads[Symbol.asyncDispose]());

async function matching(filter: JobFilterTree): Promise<string[]> {
  const rows = await reads.database.query<{ marking_number: string }>(
    sql`select marking_number from job where ${filterToSql(filter)}`,
  );
  return rows.map((row) => row.marking_number).toSorted();
}

const inConsole = (job: JobTableRow): WithDueDates => {
  const [category] = Object.entries(statuses).find(([, code]) => code === job.normalized_status) ?? ["open"];
  return {
    scheduledDate: job.scheduled_date,
    scheduledDeliveryDate: job.scheduled_delivery_date,
    status: { category: category.toUpperCase() as WithDueDates["status"]["category"] },
  };
};

const numbersOf = (condition: (job: JobTableRow) => boolean): string[] =>
  jobs
    .filter(condition)
    .map((job) => job.marking_number)
    .toSorted();

it("the console finds the same jobs late as the filter", async () => {
  const late = await matching({ isLate: true });
  expect(late).toEqual(numbersOf((job) => isLate(inConsole(job), day)));
  // Three unfinished categories: yesterday confirmed with any plan, or planned for yesterday and not confirmed.
  expect(late).toHaveLength(3 * (4 + 1));
  expect(await matching({ isLate: false })).toHaveLength(jobs.length - late.length);
});

it.each(dates)("the console finds the same jobs due on %s as the filter", async (date) => {
  const filter = date === null ? { isNull: true } : { eq: date };
  const due = await matching({ dueDate: filter });
  expect(due).toEqual(numbersOf((job) => dueDay(inConsole(job)) === date));
  expect(due).not.toEqual([]);
});
