import { describe, expect, it } from "vitest";
import { WalHistory, parseLsn } from "../../../src/platform/replicas/wal-history.ts";

describe("parseLsn", () => {
  it.each([
    ["0/0", 0n],
    ["0/3000EE8", 0x3000ee8n],
    ["16/B374D848", 0x16b374d848n],
    ["FFFFFFFF/FFFFFFFF", 2n ** 64n - 1n],
  ])("converts %s to a bigint", (text, position) => {
    expect(parseLsn(text)).toBe(position);
  });
});

const historyOf = (...samples: [bigint, number][]): WalHistory => {
  const history = new WalHistory();
  for (const [position, atMs] of samples) history.add(position, atMs);
  return history;
};

describe("the lag of a replica", () => {
  it("is null before the first sample of the primary", () => {
    expect(new WalHistory().lagMs(1n, 0)).toBeNull();
  });

  it("is 0 if the replica has everything, however old the last write is", () => {
    expect(historyOf([10n, 0], [10n, 60_000]).lagMs(10n, 120_000)).toBe(0);
  });

  it("counts from the first sample that the replica has not reached", () => {
    const history = historyOf([10n, 0], [20n, 1_000], [30n, 2_000]);
    expect(history.lagMs(15n, 2_500)).toBe(1_500);
    expect(history.lagMs(20n, 2_500)).toBe(500);
  });

  it("is 0 if the primary was probed after the replica", () => {
    expect(historyOf([10n, 0], [20n, 1_000]).lagMs(10n, 900)).toBe(0);
  });

  it("is limited by the last sample that the replica has caught up with", () => {
    const history = historyOf([10n, 0], [20n, 1_000], [20n, 2_000], [30n, 3_000]);
    expect([9n, 10n, 25n, 30n].map((position) => history.caughtUpAtMs(position))).toEqual([
      null,
      0,
      2_000,
      3_000,
    ]);
  });

  it("restarts when a new primary is at an earlier position", () => {
    expect(historyOf([10n, 0], [90n, 1_000], [50n, 2_000]).lagMs(50n, 3_000)).toBe(0);
  });

  it("is at most the age of the oldest of 600 samples", () => {
    const history = new WalHistory();
    for (let atMs = 0; atMs < 10_000; atMs += 1) history.add(BigInt(atMs + 1), atMs);
    expect(history.lagMs(0n, 10_000)).toBe(600);
  });
});

describe("hasSampleSince", () => {
  it("is true up to the time of the last sample", () => {
    expect(new WalHistory().hasSampleSince(0)).toBe(false);
    const history = historyOf([10n, 0], [10n, 1_000]);
    expect([999, 1_000, 1_001].map((sinceMs) => history.hasSampleSince(sinceMs))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("hasDiverged", () => {
  it("is true if the replica was ahead of a later position of the primary", () => {
    const history = new WalHistory();
    expect(history.hasDiverged(20n, 0)).toBe(false);
    history.add(10n, 1_000);
    expect(history.hasDiverged(20n, 900)).toBe(true);
    expect(history.hasDiverged(10n, 900)).toBe(false);
    // The primary may have advanced since its last sample.
    expect(history.hasDiverged(20n, 1_100)).toBe(false);
  });
});
