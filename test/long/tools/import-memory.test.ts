/** The memory of an import whose rows fail. */
import { expect, it } from "vitest";
import { parseOutput, waitForExit } from "../../support/processes/cli-process.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";

const { start } = useCliFixture();

it("an import needs bounded memory for its failed rows", async () => {
  // The command needs up to 96 MB, 50 of them for its code. The rows have another 96 MB.
  const count = 12_000;
  const rest = "x".repeat(8_000);
  const rows = Array.from({ length: count }, (_, index) => `{"marking_number":"L-${index}-${rest}"}`);
  const child = start(["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme", "--json"], {
    // A larger space for new objects means fewer collections.
    NODE_OPTIONS: "--max-old-space-size=128 --max-semi-space-size=16",
  });
  const run = await waitForExit(child, rows.join("\n"));
  const report = parseOutput(run, 1);
  expect(report).toMatchObject({ created: 0, failed: count });
});
