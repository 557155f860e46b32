import { expect, it } from "vitest";
import { postgresDependency } from "../../src/http/ops/dependencies.ts";

it("however many ask whether PostgreSQL is there, it is asked once", async () => {
  let asked = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const { check } = postgresDependency({
    ping() {
      asked += 1;
      return promise;
    },
  });
  const found = Promise.all(Array.from({ length: 50 }, async () => await check()));
  resolve();
  expect(await found).toEqual(Array.from({ length: 50 }, () => ({ status: "up" })));
  expect(await check()).toEqual({ status: "up" });
  expect(asked).toBe(1);
});
