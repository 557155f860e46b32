import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  booleanValue,
  dateValue,
  integerValue,
  markingNumberValue,
  numberValue,
  textValue,
} from "../../../src/jobs/values.ts";

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown): boolean =>
  schema.safeParse(value).success;

const pad = (number: number, width: number): string => String(number).padStart(width, "0");

describe("textValue", () => {
  const five = textValue(5);

  it("counts code points like PostgreSQL", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 12 }), (text) => {
        const isValid = Array.from(text).length <= 5 && text.isWellFormed() && !text.includes("\0");
        expect(accepts(five, text)).toBe(isValid);
      }),
    );
    for (const text of ["📦".repeat(5), "x".repeat(5), ""]) expect(accepts(five, text)).toBe(true);
    for (const text of ["📦".repeat(6), "x".repeat(6), "📦📦📦xxx"]) expect(accepts(five, text)).toBe(false);
  });

  it("returns the text unchanged", () => {
    expect(textValue(20).parse("  e\u0301\t ")).toBe("  e\u0301\t ");
  });

  it("rejects U+0000, lone surrogates and values that are not strings", () => {
    for (const value of ["\0", "\ud800", "a\udc00", 1, null, undefined, [], {}, true, ["a"]])
      expect(accepts(five, value)).toBe(false);
  });

  it("reports all problems of a text", () => {
    expect(five.safeParse("\0\ud800xxxxx").error?.issues).toHaveLength(3);
  });
});

// evidence: integer-range
it.each<[string, Parameters<typeof accepts>[0], unknown[], unknown[]]>([
  [
    "a Marking Number",
    markingNumberValue,
    ["x", " ", "📦".repeat(120)],
    ["", "x".repeat(121), "📦".repeat(121), "\0", 1],
  ],
  [
    "an integer from 1",
    integerValue(1),
    [1, 2_147_483_647],
    [0, -0, -1, 1.5, 2_147_483_648, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, "1", null, true, 1n],
  ],
  [
    "a number",
    numberValue,
    [0, -1.5, 5e-324, Number.MAX_VALUE],
    [Number.NaN, Number.NEGATIVE_INFINITY, "1", null, [], true, 1n],
  ],
  ["a boolean", booleanValue, [true, false], ["true", 1, 0, null, undefined]],
])("%s is not coerced from other values", (_name, schema, accepted, rejected) => {
  expect(accepted.filter((value) => !accepts(schema, value))).toEqual([]);
  expect(rejected.filter((value) => accepts(schema, value))).toEqual([]);
});

describe("dateValue", () => {
  it("accepts all dates from 0001-01-01 to 9999-12-31", () => {
    const days = fc.date({
      min: new Date("0001-01-01"),
      max: new Date("9999-12-31T23:59:59Z"),
      noInvalidDate: true,
    });
    fc.assert(fc.property(days, (date) => accepts(dateValue, date.toISOString().slice(0, 10))));
  });

  it("rejects dates that do not exist", () => {
    const text = fc.tuple(fc.nat({ max: 9999 }), fc.nat({ max: 20 }), fc.nat({ max: 40 }));
    fc.assert(
      fc.property(text, ([year, month, day]) => {
        const written = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
        const date = new Date(`${written}T00:00:00Z`);
        const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(written) && year > 0;
        expect(accepts(dateValue, written)).toBe(exists);
      }),
    );
  });
});
