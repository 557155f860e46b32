import { describe, expect, it } from "vitest";
import { createSecretBox, parseSecret } from "../../../src/core/secret-box.ts";

const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7 + 250));
const box = createSecretBox(bytes);
const CONTEXT = "webhook_endpoint:01";

describe("a secret box", () => {
  it("decrypts what it encrypted, for any text", () => {
    for (const text of ["whsec_abc", "", "Grüße 🚚", "x".repeat(10_000)])
      expect(box.open(box.seal(text, CONTEXT), CONTEXT)).toBe(text);
  });

  it("encrypts the same text differently each time, with a version prefix", () => {
    const [one, other] = [box.seal("whsec_abc", CONTEXT), box.seal("whsec_abc", CONTEXT)];
    expect(one).not.toBe(other);
    expect(one).toMatch(/^s1\.[\w-]+$/);
  });

  it("rejects another context, another secret, another version and any changed character", () => {
    const sealed = box.seal("whsec_abc", CONTEXT);
    const foreign = createSecretBox(Buffer.alloc(32, 1));
    const attempts = [
      () => box.open(sealed, "webhook_endpoint:02"),
      () => foreign.open(sealed, CONTEXT),
      () => box.open(sealed.replace("s1.", "s2."), CONTEXT),
      () => box.open("", CONTEXT),
      () => box.open("s1.AAAA", CONTEXT),
      ...Array.from({ length: sealed.length - 4 }, (_, index) => () => {
        const position = index + 3;
        const other = sealed[position] === "A" ? "B" : "A";
        return box.open(sealed.slice(0, position) + other + sealed.slice(position + 1), CONTEXT);
      }),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow("was sealed with another WAYMARK_SECRET");
      expect(attempt).not.toThrow("whsec");
    }
  });
});

describe("parseSecret", () => {
  it("accepts 32 bytes in base64, base64url or hexadecimal digits", () => {
    for (const encoding of ["base64", "base64url", "hex"] as const)
      expect(parseSecret(bytes.toString(encoding))?.equals(bytes)).toBe(true);
    expect(parseSecret(bytes.toString("hex").toUpperCase())?.equals(bytes)).toBe(true);
  });

  it("returns null for any other text", () => {
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
