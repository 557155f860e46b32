/** Each row of docs/engineering/faults.md names evidence. `evidence.test.ts` checks that the IDs exist. */
import { expect, it } from "vitest";
import { parseEvidenceIds, readPages, tableRows } from "../support/evidence.ts";

it("docs/engineering/faults.md names a test in every row", () => {
  const rows = tableRows(readPages()["docs/engineering/faults.md"] ?? "");
  expect(rows.length).toBeGreaterThan(20);
  expect(
    rows.filter((cells) => cells.length !== 3 || parseEvidenceIds(cells.at(-1) ?? "").length === 0),
  ).toEqual([]);
});
