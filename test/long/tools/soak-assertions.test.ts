import { describe, expect, it } from "vitest";
import { latencyAssertion } from "../../../bench/soak/assertions.ts";
import { operationNames, type OperationName } from "../../../bench/soak/plan.ts";

type Quarters = readonly [calls: number, p50Ms: number][];

/** Every operation has 200 calls of 10 ms in each quarter, except `name`. */
function figuresWith(name: OperationName, quarters: Quarters) {
  const steady: Quarters = Array.from({ length: 4 }, () => [200, 10]);
  const toFigures = (of: Quarters) => ({
    quartersMs: of.map(([calls, ms]) => Array<number>(calls).fill(ms)),
  });
  return Object.fromEntries(
    operationNames.map((operation) => [operation, toFigures(operation === name ? quarters : steady)]),
  ) as Parameters<typeof latencyAssertion>[0];
}

describe("the soak's comparison of latency in the first and the last quarter", () => {
  it("fails for an operation whose p50 doubles", () => {
    const quarters: Quarters = [
      [100, 10],
      [100, 10],
      [100, 20],
      [100, 20],
    ];
    expect(latencyAssertion(figuresWith("history", quarters), 20)).toMatchObject({
      holds: false,
      measured: "1 (for example: history)",
    });
  });

  it.each<{ quarters: Quarters; title: string }>([
    {
      title: "the first quarter",
      quarters: [
        [8, 10],
        [100, 10],
        [100, 20],
        [100, 20],
      ],
    },
    {
      title: "the last quarter",
      quarters: [
        [100, 10],
        [100, 10],
        [100, 20],
        [99, 20],
      ],
    },
    {
      title: "both quarters",
      quarters: [
        [2, 10],
        [2, 10],
        [2, 20],
        [2, 20],
      ],
    },
  ])("does not judge an operation with fewer than 100 calls in $title", ({ quarters }) => {
    expect(latencyAssertion(figuresWith("history", quarters), 20)).toMatchObject({
      holds: true,
      measured: "0; too few calls to judge: history",
    });
  });

  it("does not judge a run of less than five minutes", () => {
    const quarters: Quarters = [
      [100, 10],
      [100, 10],
      [100, 20],
      [100, 20],
    ];
    expect(latencyAssertion(figuresWith("history", quarters), 4.9)).toMatchObject({
      holds: true,
      measured: "-: too few minutes to judge",
    });
  });

  it("ignores a rise of less than 3 ms", () => {
    const quarters: Quarters = [
      [100, 2],
      [100, 2],
      [100, 4],
      [100, 4],
    ];
    expect(latencyAssertion(figuresWith("history", quarters), 20)).toMatchObject({
      holds: true,
      measured: "0",
    });
  });
});
