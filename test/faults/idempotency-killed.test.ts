/** Batches with an Idempotency-Key while the server and PostgreSQL are killed: each is applied once. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openOwnPostgres } from "../support/fault-postgres.ts";
import { killUnderKeyedBatches } from "../support/keyed-batches.ts";

vi.setConfig({ testTimeout: 180_000 });

// evidence: idempotency-killed-processes
it("server and PostgreSQL killed under keyed batches: every batch is applied once, and a repeat gets its answer", async () => {
  const postgres = await openOwnPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  expect(await killUnderKeyedBatches(postgres, { batches: 100, kills: 1 })).toEqual([]);
});
