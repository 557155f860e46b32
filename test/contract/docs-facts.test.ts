/** Compares the numbers in the guide with the constants of the code. */
import { describe, expect, it } from "vitest";
import { constantIn, count, duration, findWrongFacts } from "../support/docs/facts.ts";
import { guideFacts } from "../support/docs/guide-facts.ts";
import { operateFacts } from "../support/docs/operate-facts.ts";

it("the pages have the numbers of the code", () => {
  const facts = [...guideFacts, ...operateFacts];
  expect(facts.length).toBeGreaterThan(100);
  expect(findWrongFacts(facts)).toEqual([]);
});

describe("the checker", () => {
  const page =
    "# Limits\n\nWait a minute.\n\n## Sizes\n\n| What | Limit |\n|---|---|\n| Batch | 1,000 jobs in 15 s |\n";
  const check = (place: string, ...states: Parameters<typeof findWrongFacts>[0][number]["states"]) =>
    findWrongFacts([{ page: "a.md", place, states }], () => page);

  it.each([
    ["accepts a number in a row", "Sizes > Batch", count(1000), 0],
    ["accepts a duration in words", "Limits", duration(60_000), 0],
    ["reports another number", "Sizes > Batch", count(100), 1],
    ["reports a part of a number", "Sizes > Batch", duration(5_000), 1],
    ["reports a number of another section", "Limits", count(1000), 1],
    ["reports an unknown place", "Sizes > Page", count(1000), 1],
  ])("%s", (_, place, quantity, problems) => {
    expect(check(place, quantity)).toHaveLength(problems);
  });

  it("reads constants, members, products and powers", () => {
    expect(constantIn("src/core/http-client/client.ts", "defaultLimits.keepBytes")).toBe(4096);
    expect(constantIn("src/api/server/server.ts", "TIMEOUTS_MS.upload")).toBe(3_600_000);
    expect(constantIn("src/idempotency/purge.sql.ts", "IDEMPOTENCY_STORAGE_LIMITS.bytes")).toBe(
      8 * 1024 ** 3,
    );
    expect(() => constantIn("src/api/server/server.ts", "NO_SUCH_MS")).toThrow("has no constant NO_SUCH_MS");
  });
});
