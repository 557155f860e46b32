import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashKey, parsePrefix, generateKey } from "../../../src/api-keys/format.ts";

describe("the text of an API key", () => {
  it("is wmk_, 8 characters of ID, 43 of secret and 6 of checksum", () => {
    for (let round = 0; round < 500; round += 1) {
      const { text, prefix } = generateKey();
      expect(text).toMatch(/^wmk_[0-9a-z]{8}_[\w-]{43}[0-9A-Za-z]{6}$/);
      expect(text).toHaveLength(62);
      expect(text.slice(0, 12)).toBe(prefix);
      expect(parsePrefix(text)).toBe(prefix);
    }
  });

  it("is unique", () => {
    const keys = Array.from({ length: 2_000 }, generateKey);
    expect(new Set(keys.map((key) => key.text)).size).toBe(2_000);
    expect(new Set(keys.map((key) => key.prefix)).size).toBe(2_000);
  });

  it("is rejected without a database query if one character is changed or two adjacent ones are swapped", () => {
    const { text } = generateKey();
    const mistyped = Array.from(text).flatMap((character, index) => {
      const [before, after] = [text.slice(0, index), text.slice(index + 1)];
      const swapped = before + after.charAt(0) + character + after.slice(1);
      return [swapped, ...Array.from("0aA_-x", (other) => before + other + after)];
    });
    const accepted = mistyped.filter((other) => other !== text && parsePrefix(other) !== null);
    expect(accepted).toEqual([]);
  });

  it("is rejected in any other format", () => {
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
      expect(parsePrefix(other)).toBeNull();
    fc.assert(fc.property(fc.string({ maxLength: 100 }), (other) => parsePrefix(other) === null));
  });

  it("is stored only as its SHA-256 hash", () => {
    const { text, hash } = generateKey();
    expect(hash).toEqual(hashKey(text));
    expect(hash).toHaveLength(32);
    expect(hash.toString("latin1")).not.toContain(text.slice(13, 20));
    expect(hashKey("").toString("hex")).toBe(
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
  });
});
