/** Batches with an Idempotency-Key while the server and PostgreSQL are killed: each is applied once. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openDedicatedPostgres } from "../support/faults/postgres.fixture.ts";
import { killDuringIdempotentBatches } from "../support/faults/idempotent-batches.ts";

vi.setConfig({ testTimeout: 180_000 });

// evidence: idempotency-killed-processes
it("server and PostgreSQL killed under keyed batches: every batch is applied once, and a repeat gets its answer", async () => {
  const postgres = await openDedicatedPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  expect(await killDuringIdempotentBatches(postgres, { batches: 100, kills: 1 })).toEqual([]);
});
