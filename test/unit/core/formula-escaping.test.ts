import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeFormulas } from "../../../src/console/app/csv.ts";
import { unescapeFormulas } from "../../../src/core/records/formula-escaping.ts";

const piece = fc.constantFrom("=", "+", "-", "@", "\uFF1D", "'", ";", "\t", "\r", "\n", " ", '"', "a", ",");
const text = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
  fc.string({ unit: "binary" }),
);

describe("formula escaping", () => {
  it.each([
    ["=1+1", "'=1+1"],
    ["a;=1+1", "a;'=1+1"],
    [";=1", ";'=1"],
    ["a;=1;+2", "a;'=1;'+2"],
    ["a\t@SUM(1)", "a\t'@SUM(1)"],
    ["a\r\n-1", "a\r\n'-1"],
    ['a; "=1', `a; "'=1`],
    ["\uFF1D1", "'\uFF1D1"],
    ["'=1", "''=1"],
    ["'s-Gravenhage; a-b", "'s-Gravenhage; a-b"],
  ])("changes %j to %j", (plain, escaped) => {
    expect(escapeFormulas(plain)).toBe(escaped);
  });

  // evidence: csv-formula-escaping
  it("leaves no formula at the start of a text or after any separator", () => {
    fc.assert(
      fc.property(text, (plain) => {
        const parts = escapeFormulas(plain).split(/[;\t\r\n]/);
        for (const part of parts) expect(part.replace(/^[\s"]+/, "")).not.toMatch(/^[=+\-@＝＋－＠]/);
      }),
      { numRuns: 2_000 },
    );
  });

  it("can be reversed for any text", () => {
    fc.assert(
      fc.property(text, (plain) => {
        expect(unescapeFormulas(escapeFormulas(plain))).toBe(plain);
      }),
      { numRuns: 2_000 },
    );
  });
});
