import { describe, expect, it } from "vitest";
import { createSecretBox, parseSecret } from "../../../src/platform/secret-box.ts";

const bytes = Buffer.from(Array.from({ length: 32 }, (_, at) => at * 7 + 250));
const box = createSecretBox(bytes);
const CONTEXT = "webhook_endpoint:01";

describe("a secret box", () => {
  it("opens what it sealed, whatever text that is", () => {
    for (const text of ["whsec_abc", "", "Grüße 🚚", "x".repeat(10_000)])
      expect(box.open(box.seal(text, CONTEXT), CONTEXT)).toBe(text);
  });

  it("seals the same text differently each time, and shows its version", () => {
    const [one, other] = [box.seal("whsec_abc", CONTEXT), box.seal("whsec_abc", CONTEXT)];
    expect(one).not.toBe(other);
    expect(one).toMatch(/^s1\.[\w-]+$/);
  });

  it("opens nothing for another owner, under another secret, of another version, or changed in any place", () => {
    const sealed = box.seal("whsec_abc", CONTEXT);
    const foreign = createSecretBox(Buffer.alloc(32, 1));
    const attempts = [
      () => box.open(sealed, "webhook_endpoint:02"),
      () => foreign.open(sealed, CONTEXT),
      () => box.open(sealed.replace("s1.", "s2."), CONTEXT),
      () => box.open("", CONTEXT),
      () => box.open("s1.AAAA", CONTEXT),
      ...Array.from({ length: sealed.length - 4 }, (_, at) => () => {
        const place = at + 3;
        const other = sealed[place] === "A" ? "B" : "A";
        return box.open(sealed.slice(0, place) + other + sealed.slice(place + 1), CONTEXT);
      }),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow("was sealed with another WAYMARK_SECRET");
      expect(attempt).not.toThrow("whsec");
    }
  });
});

describe("a WAYMARK_SECRET", () => {
  it("is 32 bytes as base64, base64url or hexadecimal digits", () => {
    for (const encoding of ["base64", "base64url", "hex"] as const)
      expect(parseSecret(bytes.toString(encoding))?.equals(bytes)).toBe(true);
    expect(parseSecret(bytes.toString("hex").toUpperCase())?.equals(bytes)).toBe(true);
  });

  it("is nothing else", () => {
    for (const text of [
      "",
      "secret",
      "a".repeat(32),
      Buffer.alloc(31).toString("base64"),
      "g".repeat(64),
      "=".repeat(44),
    ])
      expect(parseSecret(text)).toBeNull();
  });
});
