/** The secret of a mail's link, out of the fragment of an address that anybody can have written. */
import { describe, expect, it } from "vitest";
import { parseUrlToken } from "../../../src/console/app/session/url-token.parse.ts";

describe("the secret of a mail's link", () => {
  it("is what stands after its name", () => {
    expect(parseUrlToken("#token=a-B_9")).toBe("a-B_9");
  });

  it("is read as an address is written", () => {
    expect(parseUrlToken("#token=a%2Db")).toBe("a-b");
  });

  it.each(["", "#", "#other=a", "token=a"])("is none where the fragment is another: %j", (hash) => {
    expect(parseUrlToken(hash)).toBeNull();
  });

  it.each(["#token=%", "#token=%E0%A4%A", "#token=a%zz"])(
    "is none where it cannot be read, and stops nothing: %j",
    (hash) => {
      expect(parseUrlToken(hash)).toBeNull();
    },
  );
});
