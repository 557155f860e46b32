import { expect, it } from "vitest";
import { WalHistory } from "../../../src/platform/replicas/wal-history.ts";
import { Replica } from "../../../src/platform/replicas/replica.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";

/** Runs a statement that never completes, and returns its error. */
const queryExpectingError = (replica: Replica): Promise<unknown> =>
  replica
    .query({ query: () => new Promise(() => undefined) }, sql`select 1`)
    .catch((error: unknown) => error);

it("rejects queries in flight when a probe finds the replica unreachable", async () => {
  await using replica = new Replica("replica_1", "postgresql://127.0.0.1:1/nowhere");
  const failure = queryExpectingError(replica);
  await replica.probe({ walHistory: new WalHistory(), systemIdentifier: null });
  expect(await failure).toMatchObject({ message: "The replica is left out: unreachable" });
  expect(replica.statusMessage).toBe("unreachable");
});

it("rejects queries in flight when a probe finds that the server is not a standby", async () => {
  await using database = await createTestDatabase();
  await using replica = new Replica("replica_1", database.url);
  const failure = queryExpectingError(replica);
  await replica.probe({ walHistory: new WalHistory(), systemIdentifier: null });
  expect(await failure).toMatchObject({ message: "The replica is left out: not a standby" });
});
