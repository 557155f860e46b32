/** Parses query strings, which anyone can have written. */
import { describe, expect, it } from "vitest";
import { parseReturnTo } from "../../../src/console/app/session/return-to.ts";
import {
  dayParam,
  flagParam,
  removedValues,
  enumParam,
  parseSearch,
  enumListParam,
  stringifySearch,
  textParam,
  textListParam,
  typedIdParam,
  typedIdListParam,
  integerParam,
} from "../../../src/console/app/search-params.ts";

// evidence: sign-in-redirect-stays-in-console
describe("the page after signing in", () => {
  it.each([
    "/jobs",
    "/jobs?status=failed&status=on_hold",
    "/jobs/WM%2F1",
    "/integrations/deliveries/dlv_1#x",
  ])("is a path of the console: %s", (next) => {
    expect(parseReturnTo({ next })).toEqual({ next });
  });

  it.each([
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "/\t/evil.example/",
    "/\n/evil.example/",
    "\\\\evil.example",
    "javascript:alert(1)",
    "jobs",
    "",
    "/",
    undefined,
    ["/\t/evil.example", "/jobs"],
    { a: 1 },
    `/${"x".repeat(2_000)}`,
  ])("is never another site, and is omitted for the dashboard: %j", (next) => {
    expect(parseReturnTo({ next })).toEqual({});
  });
});

describe("a query string", () => {
  it("round-trips", () => {
    const search = { q: "WM 1&2=3", status: ["failed", "on_hold"], late: true, page: 3 };
    const written = stringifySearch(search);

    expect(written).toBe("?q=WM+1%262%3D3&status=failed&status=on_hold&late=true&page=3");
    expect(parseSearch(written)).toEqual({
      q: "WM 1&2=3",
      status: ["failed", "on_hold"],
      late: "true",
      page: "3",
    });
  });

  it("omits empty values", () => {
    expect(stringifySearch({ q: "", status: undefined, after: null, list: [], object: { a: 1 } })).toBe("");
  });

  it("supports names of inherited object properties", () => {
    expect(Object.keys(parseSearch("?constructor=1&q=2"))).toEqual(["constructor", "q"]);
    expect(textParam(parseSearch("?q=2")["constructor"])).toBeUndefined();
  });

  it("is parsed value by value, and invalid values are dropped", () => {
    expect([
      textParam(" a "),
      textParam("   "),
      textParam("x".repeat(201)),
      textParam(["a", "b"]),
      textParam({}),
    ]).toEqual(["a", undefined, undefined, "a", undefined]);
    expect([enumParam("a", ["a", "b"]), enumParam("c", ["a", "b"])]).toEqual(["a", undefined]);
    expect([textListParam("a"), textListParam(["a", "a", "b", {}]), textListParam(undefined)]).toEqual([
      ["a"],
      ["a", "b"],
      undefined,
    ]);
    expect([enumListParam(["a", "c"], ["a", "b"]), enumListParam("c", ["a"])]).toEqual([["a"], undefined]);
    expect([integerParam("3", 1, 5), integerParam("9", 1, 5), integerParam("1.5", 1, 5)]).toEqual([
      3,
      undefined,
      undefined,
    ]);
    expect([dayParam("2026-11-21"), dayParam("2026-02-30"), dayParam("21.11.2026")]).toEqual([
      "2026-11-21",
      undefined,
      undefined,
    ]);
    expect([flagParam("true"), flagParam(true), flagParam("1")]).toEqual([true, true, undefined]);
  });
});

describe("removed values of a link", () => {
  it("are listed one by one, without defaults and foreign parameters", () => {
    const raw = parseSearch("?status=failed&status=nope&days=9&size=25&utm_source=mail&q=+");
    const search = { status: ["failed"], days: undefined, size: undefined, q: undefined };
    expect(removedValues(raw, search, { size: "25" })).toEqual([
      { name: "status", value: "nope" },
      { name: "days", value: "9" },
    ]);
    expect(removedValues(parseSearch("?late=true&days=7"), { late: true, days: 7 })).toEqual([]);
  });

  it("include ids of another type", () => {
    const id = "org_01JD0000000000000000000000";
    expect([typedIdParam(id, "org"), typedIdParam(id, "whe"), typedIdParam("org_1", "org")]).toEqual([
      id,
      undefined,
      undefined,
    ]);
    expect(typedIdListParam([id, "org_1"], "org")).toEqual([id]);
  });
});
