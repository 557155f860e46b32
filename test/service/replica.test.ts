import { expect, it } from "vitest";
import { PrimaryPositions } from "../../src/platform/replica-positions.ts";
import { Replica } from "../../src/platform/replica.ts";
import { sql } from "../../src/platform/sql.ts";

it("nobody waits for the answer of a replica that is found to be out of reach", async () => {
  await using replica = new Replica("replica_1", "postgresql://127.0.0.1:1/nowhere");
  const asked = replica.ask({ query: () => new Promise(() => undefined) }, sql`select 1`);
  const failure = asked.catch((error: unknown) => error);
  await replica.look({ positions: new PrimaryPositions(), system: null });
  expect(await failure).toMatchObject({ message: "The replica is out of reach" });
  expect(replica.complaint).toBe("out of reach");
});
