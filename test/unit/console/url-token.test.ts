/** Parsing of the token in a mail's link, from the URL fragment. */
import { describe, expect, it } from "vitest";
import { parseUrlToken } from "../../../src/console/app/session/url-token.parse.ts";

describe("parseUrlToken", () => {
  it("returns the value after #token=", () => {
    expect(parseUrlToken("#token=a-B_9")).toBe("a-B_9");
  });

  it("decodes percent-encoding", () => {
    expect(parseUrlToken("#token=a%2Db")).toBe("a-b");
  });

  it.each(["", "#", "#other=a", "token=a"])("returns null for another fragment: %j", (hash) => {
    expect(parseUrlToken(hash)).toBeNull();
  });

  it.each(["#token=%", "#token=%E0%A4%A", "#token=a%zz"])(
    "returns null for invalid percent-encoding: %j",
    (hash) => {
      expect(parseUrlToken(hash)).toBeNull();
    },
  );
});
