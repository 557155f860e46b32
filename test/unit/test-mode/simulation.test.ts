import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { parseSimulation, simulatedFailure, simulatedStatuses } from "../../../src/test-mode/api.ts";

describe("parseSimulation", () => {
  it.each(["slow:1", "slow:3000", "slow:30000"])("accepts %s", (text) => {
    expect(parseSimulation(text, simulatedStatuses)).toEqual({ kind: "slow", ms: Number(text.slice(5)) });
  });

  it.each([
    "",
    " ",
    "200",
    "404",
    "418",
    "4290",
    "0x1f4",
    "5e2",
    "500 ",
    "500, 500",
    "429,503",
    "CUT",
    "cut:1",
    "slow",
    "slow:",
    "slow:0",
    "slow:01",
    "slow:-1",
    "slow:1.5",
    "slow:30001",
    "slow:99999",
    "slow:1e3",
    "slow:300000000000",
    "slow:NaN",
    "slow:Infinity",
    "slow: 3",
    "constructor",
    "__proto__",
    "５００",
    "slow:1\n",
    "9".repeat(10_000),
  ])("rejects %j with the values that it accepts", (text) => {
    const parse = () => parseSimulation(text, ["401", "503"]);
    expect(parse).toThrow(AppError);
    expect(parse).toThrow(
      "X-Waymark-Simulate must be 401, 503, cut, cut_after, or slow: with 1 to 30000 milliseconds, such as slow:3000",
    );
  });
});

describe("simulatedFailure 412", () => {
  it.each([
    ['"7"', 8],
    [undefined, 2],
    ["*", 2],
    ['W/"7"', 2],
    ['"7", "9"', 2],
    ['"99999999999999999999"', 2],
  ])("is one version after If-Match %s", (ifMatch, version) => {
    expect(simulatedFailure("412", ifMatch).details).toEqual({ current_etag: `"${version}"` });
  });
});
