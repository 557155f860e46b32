import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../../../src/platform/cursor.ts";

const shape = z.tuple([z.string(), z.number().nullable()]);

const made = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a cursor", () => {
  it("gives back what it was made of, in text that needs no escape in a URL", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40, unit: "grapheme" }), fc.option(fc.integer()), (text, number) => {
        const cursor = encodeCursor("things", [text, number]);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(decodeCursor("things", shape, cursor)).toEqual([text, number]);
      }),
    );
  });

  it("of one kind is none of another", () => {
    expect(decodeCursor("others", shape, encodeCursor("things", ["a", 1]))).toBeNull();
  });

  it("is none where its values have another shape", () => {
    for (const values of [[], ["a"], ["a", "1"], ["a", 1, 2], [1, "a"]]) {
      expect(decodeCursor("things", shape, encodeCursor("things", values))).toBeNull();
    }
  });

  it("is none where its version is another", () => {
    expect(decodeCursor("things", shape, made([1, "things", "a", 1]))).toEqual(["a", 1]);
    for (const value of [[2, "things", "a", 1], ["1", "things", "a", 1], { 0: 1 }, null, "x", 1]) {
      expect(decodeCursor("things", shape, made(value))).toBeNull();
    }
  });

  it("is none where it is too long, or any other text", () => {
    expect(decodeCursor("things", shape, encodeCursor("things", ["a".repeat(500), 1]))).toBeNull();
    fc.assert(fc.property(fc.string(), (text) => decodeCursor("things", shape, text) === null));
    fc.assert(fc.property(fc.base64String(), (text) => decodeCursor("things", shape, text) === null));
  });
});
