/** The token in the URL fragment of a link from an e-mail, which anyone can have written. */
import { describe, expect, it } from "vitest";
import { parseUrlToken } from "../../../src/console/app/session/url-token.parse.ts";

describe("a URL token", () => {
  it.each([
    ["#token=a-B_9", "a-B_9"],
    ["#token=a%2Db", "a-b"],
    ...["", "#", "#other=a", "token=a", "#token=%", "#token=%E0%A4%A", "#token=a%zz"].map((hash) => [
      hash,
      null,
    ]),
  ])("is the decoded text after #token=, if there is one: %j", (hash, token) => {
    expect(parseUrlToken(hash!)).toBe(token);
  });
});
