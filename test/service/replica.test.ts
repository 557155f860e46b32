import { expect, it } from "vitest";
import { PrimaryPositions } from "../../src/platform/replica-positions.ts";
import { Replica } from "../../src/platform/replica.ts";
import { sql } from "../../src/platform/sql.ts";
import { createTestDatabase } from "../support/test-database.ts";

/** Asks what never answers. */
const askInVain = (replica: Replica): Promise<unknown> =>
  replica.ask({ query: () => new Promise(() => undefined) }, sql`select 1`).catch((error: unknown) => error);

it("nobody waits for the answer of a replica that is found to be out of reach", async () => {
  await using replica = new Replica("replica_1", "postgresql://127.0.0.1:1/nowhere");
  const failure = askInVain(replica);
  await replica.look({ positions: new PrimaryPositions(), system: null });
  expect(await failure).toMatchObject({ message: "The replica is out of reach" });
  expect(replica.complaint).toBe("out of reach");
});

it("nor for the answer of one that has any other fault of its own", async () => {
  await using database = await createTestDatabase();
  await using replica = new Replica("replica_1", database.url);
  const failure = askInVain(replica);
  await replica.look({ positions: new PrimaryPositions(), system: null });
  expect(await failure).toMatchObject({ message: "The replica is no standby" });
});
