import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../../../src/core/cursor.ts";

const shape = z.tuple([z.string(), z.number().nullable()]);

const encodeJson = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("decodeCursor", () => {
  it("returns the encoded values, from text that needs no escaping in a URL", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40, unit: "grapheme" }), fc.option(fc.integer()), (text, number) => {
        const cursor = encodeCursor("things", [text, number]);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(decodeCursor("things", shape, cursor)).toEqual([text, number]);
      }),
    );
  });

  it("returns null for a cursor of another kind", () => {
    expect(decodeCursor("others", shape, encodeCursor("things", ["a", 1]))).toBeNull();
  });

  it("returns null if the values have another shape", () => {
    for (const values of [[], ["a"], ["a", "1"], ["a", 1, 2], [1, "a"]]) {
      expect(decodeCursor("things", shape, encodeCursor("things", values))).toBeNull();
    }
  });

  it("returns null for another version", () => {
    expect(decodeCursor("things", shape, encodeJson([1, "things", "a", 1]))).toEqual(["a", 1]);
    for (const value of [[2, "things", "a", 1], ["1", "things", "a", 1], { 0: 1 }, null, "x", 1]) {
      expect(decodeCursor("things", shape, encodeJson(value))).toBeNull();
    }
  });

  it("returns null for a cursor over 512 characters and for any other text", () => {
    expect(decodeCursor("things", shape, encodeCursor("things", ["a".repeat(500), 1]))).toBeNull();
    fc.assert(fc.property(fc.string(), (text) => decodeCursor("things", shape, text) === null));
    fc.assert(fc.property(fc.base64String(), (text) => decodeCursor("things", shape, text) === null));
  });
});
