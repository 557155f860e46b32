import { expect, it } from "vitest";
import { postgresDependency } from "../../../src/api/ops/dependencies.ts";

it("concurrent health checks share one ping of PostgreSQL", async () => {
  let pings = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const { check } = postgresDependency({
    ping() {
      pings += 1;
      return promise;
    },
  });
  const results = Promise.all(Array.from({ length: 50 }, async () => await check()));
  resolve();
  expect(await results).toEqual(Array.from({ length: 50 }, () => ({ status: "up" })));
  expect(await check()).toEqual({ status: "up" });
  expect(pings).toBe(1);
});
