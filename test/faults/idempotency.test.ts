/** Batches with an Idempotency-Key while the server and PostgreSQL are killed. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openDedicatedPostgres } from "../support/faults/postgres.fixture.ts";
import { killDuringIdempotentBatches } from "../support/faults/idempotent-batches.ts";

vi.setConfig({ testTimeout: 180_000 });

// evidence: idempotency-killed-processes
it("applies every keyed batch once and repeats its response, although server and PostgreSQL are killed", async () => {
  const postgres = await openDedicatedPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  expect(await killDuringIdempotentBatches(postgres, { batches: 100, kills: 1 })).toEqual([]);
});
