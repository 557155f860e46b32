/** The token in the URL fragment of a link from an e-mail, which anyone can have written. */
import { describe, expect, it } from "vitest";
import { parseUrlToken } from "../../../src/console/app/session/url-token.parse.ts";

describe("a URL token", () => {
  it("is the text after #token=", () => {
    expect(parseUrlToken("#token=a-B_9")).toBe("a-B_9");
  });

  it("is percent-decoded", () => {
    expect(parseUrlToken("#token=a%2Db")).toBe("a-b");
  });

  it.each(["", "#", "#other=a", "token=a"])("is null for another fragment: %j", (hash) => {
    expect(parseUrlToken(hash)).toBeNull();
  });

  it.each(["#token=%", "#token=%E0%A4%A", "#token=a%zz"])("is null if percent-decoding fails: %j", (hash) => {
    expect(parseUrlToken(hash)).toBeNull();
  });
});
