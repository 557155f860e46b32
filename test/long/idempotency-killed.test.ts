/** The test of the same name in `test/faults`, with more batches and kills. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openDedicatedPostgres } from "../support/faults/postgres.fixture.ts";
import { killDuringIdempotentBatches } from "../support/faults/idempotent-batches.ts";

vi.setConfig({ testTimeout: 600_000 });

// evidence: idempotency-killed-processes-long
it("server and PostgreSQL killed eight times each under 1,000 keyed batches: every batch is applied once", async () => {
  const postgres = await openDedicatedPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  expect(await killDuringIdempotentBatches(postgres, { batches: 1_000, kills: 8 })).toEqual([]);
});
