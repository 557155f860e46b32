import { describe, expect, it } from "vitest";
import { createCidrMatcher, parseCidr } from "../../../src/core/cidr.ts";
import { AppError } from "../../../src/core/errors.ts";

describe("parseCidr", () => {
  it.each([
    ["10.0.0.0/8", "10.0.0.0/8"],
    ["203.0.113.7", "203.0.113.7/32"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["2001:db8::/32", "2001:db8::/32"],
    ["::1", "::1/128"],
    ["::/0", "::/0"],
  ])("accepts %s", (text, expected) => {
    expect(parseCidr(text).text).toBe(expected);
  });

  it.each([
    "",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0.0.0/a",
    "10.0.0.0/8.5",
    "10.0.0.0/ 8",
    "10.0.0/8",
    "10.0.0.256",
    "010.0.0.1",
    "2001:db8::/129",
    "fe80::1%eth0",
    "fe80::%lo/64",
    "localhost",
    "*",
    " 10.0.0.0/8",
  ])("throws a 400 error with an example for %j", (text) => {
    expect(() => parseCidr(text)).toThrow(AppError);
    expect(() => parseCidr(text)).toThrow("is not a CIDR range such as 203.0.113.0/24");
  });
});

describe("createCidrMatcher", () => {
  it.each([
    [["10.0.0.0/8"], "10.255.0.1", true],
    [["10.0.0.0/8"], "11.0.0.1", false],
    [["10.1.2.3/8"], "10.9.9.9", true],
    [["203.0.113.0/24", "198.51.100.7"], "198.51.100.7", true],
    [["203.0.113.0/24", "198.51.100.7"], "198.51.100.8", false],
    [["0.0.0.0/0"], "1.2.3.4", true],
    [["0.0.0.0/0"], "::1", false],
    [["2001:db8::/32"], "2001:db8:1::9", true],
    [["2001:db8::/32"], "2001:db9::", false],
    [["10.0.0.0/8"], "::ffff:10.0.0.1", true],
    [["10.0.0.0/8"], "::ffff:11.0.0.1", false],
    [[], "10.0.0.1", false],
    [["0.0.0.0/0", "::/0"], "nonsense", false],
    [["0.0.0.0/0", "::/0"], "", false],
  ])("%j matches %s: %s", (ranges, address, expected) => {
    expect(createCidrMatcher(ranges)(address)).toBe(expected);
  });
});
