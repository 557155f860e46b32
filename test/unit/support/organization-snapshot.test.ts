/** The comparison of stored rows that the parity tests use. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newUuid } from "../../../src/core/ids.ts";
import { snapshotOfRows, type StoredRow } from "../../support/app/organization-snapshot.ts";

/** Three equal jobs with an event each. The first job has a second, equal event, which an audit entry names. */
function similarRows(): StoredRow[] {
  const jobs = [newUuid(), newUuid(), newUuid()];
  const [first = ""] = jobs;
  const event = (jobId: string, id = newUuid()) => row("job_event", { id, job_id: jobId });
  const audited = newUuid();
  return [
    ...jobs.map((id) => row("job", { id })),
    ...jobs.map((id) => event(id)),
    event(first, audited),
    row("audit_entry", { target: audited }),
  ];
}

function row(table: string, values: Record<string, string>): StoredRow {
  return { table, text: JSON.stringify(values) };
}

describe("snapshotOfRows", () => {
  it("returns the same for equal rows with other ids, in any order", () => {
    const expected = snapshotOfRows(similarRows());
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }), (order) => {
        const rows = similarRows();
        expect(snapshotOfRows(order.map((index) => rows[index] as StoredRow))).toEqual(expected);
      }),
    );
  });

  it("differs if a row refers to another row", () => {
    const rows = similarRows();
    const [, , , event] = rows;
    const entry = row("audit_entry", { target: (JSON.parse(event?.text ?? "") as { id: string }).id });
    expect(snapshotOfRows([...rows.slice(0, -1), entry])).toEqual(snapshotOfRows(similarRows()));
    const lastEvent = rows[5] as StoredRow;
    const other = row("audit_entry", { target: (JSON.parse(lastEvent.text) as { id: string }).id });
    expect(snapshotOfRows([...rows.slice(0, -1), other])).not.toEqual(snapshotOfRows(similarRows()));
  });
});
