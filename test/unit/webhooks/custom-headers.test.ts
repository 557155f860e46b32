import { describe, expect, it } from "vitest";
import { headerProblem, maskHeaders } from "../../../src/webhooks/endpoints/custom-headers.ts";

describe("headerProblem", () => {
  it.each([
    ["X-Api-Key", "abc"],
    ["authorization", "Bearer abc.def=="],
    ["cookie", "a=b; c=d"],
    ["x_custom", "a\tb c"],
    ["X-Long", "x".repeat(2_048)],
  ])("accepts %s: %s", (name, value) => {
    expect(headerProblem(name, value)).toBeNull();
  });

  it.each([
    "Host",
    "content-length",
    "Content-Type",
    "Content-Encoding",
    "Transfer-Encoding",
    "Connection",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Proxy-Authorization",
    "proxy-connection",
    "User-Agent",
    "Accept-Encoding",
    "Date",
    "Via",
    "Forwarded",
    "X-Forwarded-For",
    "webhook-id",
    "Webhook-Signature",
    "WEBHOOK-TIMESTAMP",
    "webhook-anything",
  ])("rejects the reserved header %s", (name) => {
    expect(headerProblem(name, "x")).toBe(`cannot be set: ${name.toLowerCase()} is reserved`);
  });

  it.each(["", "a b", "a:b", "a\r\nb", "é", "a\0", "(a)", "x".repeat(101)])("rejects the name %j", (name) => {
    expect(headerProblem(name, "x")).toContain("must have a name");
  });

  it.each(["", " ", " a", "a ", "a\r\nX-Evil: 1", "a\nb", "a\0b", "é", "a\u0085b", "a\x7fb"])(
    "rejects the value %j",
    (value) => {
      expect(headerProblem("x-custom", value)).toContain("printable ASCII");
    },
  );

  it("rejects a value that is too long", () => {
    expect(headerProblem("x-custom", "x".repeat(2_049))).toBe("cannot be longer than 2048 characters");
  });
});

describe("maskHeaders", () => {
  it("keeps the names and hides the values and their lengths", () => {
    expect(maskHeaders({ "x-a": "1", "x-b": "a very long secret" })).toEqual({
      "x-a": "********",
      "x-b": "********",
    });
  });
});
