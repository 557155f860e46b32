import { describe, expect, it } from "vitest";
import { WalHistory, parseLsn } from "../../../src/platform/replicas/wal-history.ts";

describe("a place in the log", () => {
  it.each([
    ["0/0", 0n],
    ["0/3000EE8", 0x3000ee8n],
    ["16/B374D848", 0x16b374d848n],
    ["FFFFFFFF/FFFFFFFF", 2n ** 64n - 1n],
  ])("%s is a number", (text, position) => {
    expect(parseLsn(text)).toBe(position);
  });
});

const marked = (...marks: [bigint, number][]): WalHistory => {
  const positions = new WalHistory();
  for (const [position, atMs] of marks) positions.add(position, atMs);
  return positions;
};

describe("how far behind a replica is", () => {
  it("is not known before the primary was asked", () => {
    expect(new WalHistory().lagMs(1n, 0)).toBeNull();
  });

  it("is nothing where it has everything, however long ago that was written", () => {
    expect(marked([10n, 0], [10n, 60_000]).lagMs(10n, 120_000)).toBe(0);
  });

  it("counts from when the primary first had what is missing", () => {
    const positions = marked([10n, 0], [20n, 1_000], [30n, 2_000]);
    expect(positions.lagMs(15n, 2_500)).toBe(1_500);
    expect(positions.lagMs(20n, 2_500)).toBe(500);
  });

  it("counts nothing for a primary that was asked after the replica", () => {
    expect(marked([10n, 0], [20n, 1_000]).lagMs(10n, 900)).toBe(0);
  });

  it("is bounded by when the primary last had nothing that it has not", () => {
    const positions = marked([10n, 0], [20n, 1_000], [20n, 2_000], [30n, 3_000]);
    expect([9n, 10n, 25n, 30n].map((position) => positions.caughtUpAtMs(position))).toEqual([
      null,
      0,
      2_000,
      3_000,
    ]);
  });

  it("begins anew where another primary has taken over further back", () => {
    expect(marked([10n, 0], [90n, 1_000], [50n, 2_000]).lagMs(50n, 3_000)).toBe(0);
  });

  it("is told of minutes at most, however long it takes", () => {
    const positions = new WalHistory();
    for (let at = 0; at < 10_000; at += 1) positions.add(BigInt(at + 1), at);
    expect(positions.lagMs(0n, 10_000)).toBe(600);
  });
});

describe("where the primary is", () => {
  it("is known for as long as it was asked of late", () => {
    expect(new WalHistory().hasSampleSince(0)).toBe(false);
    const positions = marked([10n, 0], [10n, 1_000]);
    expect([999, 1_000, 1_001].map((sinceMs) => positions.hasSampleSince(sinceMs))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("a replica of another history", () => {
  it("was further than the primary even later", () => {
    const positions = new WalHistory();
    expect(positions.hasDiverged(20n, 0)).toBe(false);
    positions.add(10n, 1_000);
    expect(positions.hasDiverged(20n, 900)).toBe(true);
    expect(positions.hasDiverged(10n, 900)).toBe(false);
    // The primary may have got so far meanwhile.
    expect(positions.hasDiverged(20n, 1_100)).toBe(false);
  });
});
