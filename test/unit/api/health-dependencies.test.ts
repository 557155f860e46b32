import { expect, it } from "vitest";
import { postgresDependency } from "../../../src/api/ops/dependencies.ts";

it("concurrent health checks share one ping of PostgreSQL", async () => {
  let pings = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const { problem } = postgresDependency({
    ping() {
      pings += 1;
      return promise;
    },
  });
  const results = Promise.all(Array.from({ length: 50 }, async () => await problem()));
  resolve();
  expect(await results).toEqual(Array.from({ length: 50 }, () => null));
  expect(await problem()).toBeNull();
  expect(pings).toBe(1);
});
