/** Job cursors: encoding, validation and length. */
import { expect, it } from "vitest";
import { listJobs } from "../../../src/jobs/list/list.sql.ts";
import {
  jobCursor,
  jobOrderFields,
  readJobCursor,
  type JobOrder,
  type JobPosition,
} from "../../../src/jobs/list/cursor.ts";
import { encodeCursor } from "../../../src/core/cursor.ts";
import { newUuid } from "../../../src/core/ids.ts";
import { useJobReadFixture } from "../../support/jobs/read.fixture.ts";

const reads = useJobReadFixture();

const orders = jobOrderFields.flatMap((field) => [
  { field, descending: false },
  { field, descending: true },
]);
const row = {
  id: newUuid(),
  marking_number: "MN-1",
  created_at: "2026-05-01 00:00:00.12+00",
  updated_at: "2026-05-02 00:00:00+00",
  scheduled_date: "2026-05-03",
  scheduled_delivery_date: "2026-05-04",
};

it("contains the order and the position", () => {
  const values: Record<(typeof jobOrderFields)[number], string | null> = {
    created_at: "2026-05-01T00:00:00.120Z",
    updated_at: "2026-05-02T00:00:00.000Z",
    scheduled_date: "2026-05-03",
    due_date: "2026-05-04",
    marking_number: null,
  };
  for (const order of orders) {
    const cursor = jobCursor(order, row);
    expect(readJobCursor(cursor)).toEqual({ order, position: { value: values[order.field], id: row.id } });
  }
});

it.each([
  ["an empty text", ""],
  ["any text", "abc"],
  ["a cursor of another list", encodeCursor("events", ["1", "1"])],
  ["an invalid id", encodeCursor("jobs", ["-created_at", "2026-05-01T00:00:00.000Z", "x"])],
  ["an invalid time", encodeCursor("jobs", ["-created_at", "yesterday", row.id])],
  ["the year 0", encodeCursor("jobs", ["-created_at", "0000-05-01T00:00:00.000Z", row.id])],
  ["null for a column without nulls", encodeCursor("jobs", ["-created_at", null, row.id])],
  ["a value of another order", encodeCursor("jobs", ["scheduled_date", "2026-05-01T00:00:00.000Z", row.id])],
  ["an unknown order", encodeCursor("jobs", ["weight", "2026-05-01T00:00:00.000Z", row.id])],
  ["too many values", encodeCursor("jobs", ["-created_at", "2026-05-01T00:00:00.000Z", row.id, 1])],
])("is rejected: %s", (_name, text) => {
  expect(readJobCursor(text)).toBeNull();
});

it("has at most 512 characters for the longest Marking Numbers and continues after them", async () => {
  const order: JobOrder = { field: "marking_number", descending: false };
  const numbers = ["\u{10FFFF}", "\u0001", '"', "\\", "📦"].flatMap((character) => [
    character.repeat(119),
    character.repeat(120),
  ]);
  await reads.insert(numbers.map((marking_number) => ({ marking_number })));
  const listed: string[] = [];
  let position: JobPosition | null = null;
  for (let hasNext = true; hasNext;) {
    const page: Awaited<ReturnType<typeof listJobs>> = await listJobs(reads.database, reads.agent, {
      filter: {},
      order,
      page: { direction: "forward", limit: 1, position },
      include: { items: true, total: false },
    });
    listed.push(...page.items.map((item) => item.marking_number));
    const cursor = jobCursor(order, page.items[0] as (typeof page.items)[number]);
    expect(cursor.length).toBeLessThanOrEqual(512);
    position = readJobCursor(cursor)?.position ?? null;
    hasNext = page.hasNext;
  }
  const byBytes = numbers.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  expect(listed).toEqual(byBytes);
});
