/** The answer over the limit of made-up keys. test/service/api-keys/verifier-cache.test.ts has the limit. */
import { expect, it } from "vitest";
import { generateKey } from "../../src/api-keys/format.ts";
import { unknownKeyRate } from "../../src/api-keys/verifier.ts";
import { sharedApp } from "../support/app/shared-app.ts";

const app = await sharedApp("api");

it("429 for too many unknown keys has the headers that the OpenAPI document declares, of that limit", async () => {
  const headers = { "x-forwarded-for": "2001:db8:0:9::1" };
  const call = () => app.call("/v1/jobs", { key: generateKey().text, headers });
  let refused: Awaited<ReturnType<typeof call>> | undefined;
  // More than once on a machine that is so slow that the limit refills meanwhile.
  while (!refused) {
    const responses = await Promise.all(Array.from({ length: 2 * unknownKeyRate.burst }, call));
    refused = responses.find(({ status }) => status === 429);
  }
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.headers.get("ratelimit-policy")).toBe('"unknown-keys";q=100;w=5');
  expect(refused.headers.get("x-ratelimit-limit")).toBe("100");
});
