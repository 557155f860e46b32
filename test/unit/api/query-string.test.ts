import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readQuery } from "../../../src/api/rest/read-input.ts";

const known = new Set(["a", "b", "ü"]);
const read = (query: string): Record<string, string> =>
  Object.fromEntries(readQuery(`/x?${query}`, known).parameters);
const codes = (query: string): string[] =>
  readQuery(`/x?${query}`, known).problems.map(({ field, code }) => `${field} ${code}`);

describe("readQuery", () => {
  it.each([
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a=x%20y", { a: "x y" }],
    ["a=x+y", { a: "x y" }],
    ["a=x%2By", { a: "x+y" }],
    ["a=1=2", { a: "1=2" }],
    ["a=%3D%26", { a: "=&" }],
    ["a=?", { a: "?" }],
    ["%61=1", { a: "1" }],
    ["%C3%BC=1", { ü: "1" }],
    ["a=%F0%9F%93%A6", { a: "📦" }],
    ["&&a=1&", { a: "1" }],
    ["c=1&A=2&%=3&__proto__=4", {}],
    ["", {}],
  ])("parses %s", (query, expected) => {
    expect(read(query)).toEqual(expected);
    expect(codes(query)).toEqual([]);
  });

  it("returns the other names, each once", () => {
    const { unknown } = readQuery("/x?c=1&A=2&%=3&c=4&__proto__=5&&=6&a=7&%C3%BCx", known);
    expect(unknown).toEqual(["c", "A", "\uFFFD", "__proto__", "üx"]);
  });

  it.each([
    ["a=", ["a empty"]],
    ["a", ["a empty"]],
    ["a=1&a=1", ["a repeated"]],
    ["a=1&%61=2&a=3", ["a repeated", "a repeated"]],
    ["a=%FF&b=%ED%A0%80", ["a malformed", "b malformed"]],
    ["a=%&b=100%2", ["a malformed", "b malformed"]],
    ["a=1&a=&b=", ["a repeated", "b empty"]],
  ])("reports the problems of %s", (query, expected) => {
    expect(codes(query)).toEqual(expected);
  });

  it("returns no parameters without a query", () => {
    expect(readQuery("/x", known).parameters.size).toBe(0);
    expect(readQuery("/x?", known).parameters.size).toBe(0);
  });

  it("decodes any encoded text", () => {
    fc.assert(
      fc.property(
        fc
          .string({ unit: "binary", minLength: 1 })
          .filter((text) => text.isWellFormed() && !text.includes("\uFFFD")),
        (text) => {
          expect(read(`a=${encodeURIComponent(text)}`)).toEqual({ a: text });
          expect(read(new URLSearchParams({ a: text }).toString())).toEqual({ a: text });
        },
      ),
    );
  });
});
