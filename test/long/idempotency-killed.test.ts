/** The test of the same name in `test/faults`, with more batches and kills. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openDedicatedPostgres } from "../support/faults/postgres.fixture.ts";
import { killDuringIdempotentBatches } from "../support/faults/idempotent-batches.ts";

vi.setConfig({ testTimeout: 600_000 });

// evidence: idempotency-killed-processes-long
it("applies each of 1,000 keyed batches once, although server and PostgreSQL are each killed eight times", async () => {
  const postgres = await openDedicatedPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  expect(await killDuringIdempotentBatches(postgres, { batches: 1_000, kills: 8 })).toEqual([]);
});
