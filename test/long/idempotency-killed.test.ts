/** The test of the same name in `test/faults`, with more batches and kills. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openOwnPostgres } from "../support/fault-postgres.ts";
import { killUnderKeyedBatches } from "../support/keyed-batches.ts";

vi.setConfig({ testTimeout: 600_000 });

// evidence: idempotency-killed-processes-long
it("server and PostgreSQL killed eight times each under 1,000 keyed batches: every batch is applied once", async () => {
  const postgres = await openOwnPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  expect(await killUnderKeyedBatches(postgres, { batches: 1_000, kills: 8 })).toEqual([]);
});
