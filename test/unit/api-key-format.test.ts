import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashKey, parseLookup, generateKey } from "../../src/api-keys/api-key.format.ts";

describe("a key's text", () => {
  it("is wmk_, 8 characters of id, 43 of secret and 6 of checksum", () => {
    for (let time = 0; time < 500; time += 1) {
      const { text, lookup } = generateKey();
      expect(text).toMatch(/^wmk_[0-9a-z]{8}_[\w-]{43}[0-9A-Za-z]{6}$/);
      expect(text).toHaveLength(62);
      expect(text.slice(4, 12)).toBe(lookup);
      expect(parseLookup(text)).toBe(lookup);
    }
  });

  it("is never the same twice", () => {
    const keys = Array.from({ length: 2_000 }, generateKey);
    expect(new Set(keys.map((key) => key.text)).size).toBe(2_000);
    expect(new Set(keys.map((key) => key.lookup)).size).toBe(2_000);
  });

  it("with any one character changed is none, so that a typing error costs the database nothing", () => {
    const { text } = generateKey();
    const places = Array.from(text, (_, at) => at);
    const changed = places.flatMap((at) =>
      Array.from("0aA_-x", (other) => text.slice(0, at) + other + text.slice(at + 1)),
    );
    const mistyped = changed.filter((other) => other !== text);
    expect(mistyped.filter((other) => parseLookup(other) !== null)).toEqual([]);
  });

  it("with two neighbours exchanged is none", () => {
    const { text } = generateKey();
    const places = Array.from({ length: text.length - 1 }, (_, at) => at);
    const exchanged = places.map(
      (at) => text.slice(0, at) + text.charAt(at + 1) + text.charAt(at) + text.slice(at + 2),
    );
    const mistyped = exchanged.filter((other) => other !== text);
    expect(mistyped.filter((other) => parseLookup(other) !== null)).toEqual([]);
  });

  it("is none where it is anything else", () => {
    const { text } = generateKey();
    for (const other of [
      "",
      ` ${text}`,
      `${text} `,
      `${text}\n`,
      text.slice(1),
      text.toUpperCase(),
      text + text,
    ])
      expect(parseLookup(other)).toBeNull();
    fc.assert(fc.property(fc.string({ maxLength: 100 }), (other) => parseLookup(other) === null));
  });

  it("is stored as its SHA-256, from which it cannot be read", () => {
    const { text, hash } = generateKey();
    expect(hash).toEqual(hashKey(text));
    expect(hash).toHaveLength(32);
    expect(hash.toString("latin1")).not.toContain(text.slice(13, 20));
    expect(hashKey("").toString("hex")).toBe(
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
  });
});
