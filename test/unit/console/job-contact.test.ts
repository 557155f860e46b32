import { describe, expect, it } from "vitest";
import { parseContact } from "../../../src/console/pages/jobs/detail/contact.parse.ts";
import { mapUrl } from "../../../src/console/pages/jobs/detail/map-url.ts";

const links = (contact: string) => parseContact(contact).flatMap(({ href }) => href ?? []);

describe("the contact of a recipient", () => {
  it.each([
    ["+44 20 7946 0123", ["tel:+442079460123"]],
    ["+44 (0)20 7946-0123", ["tel:+442079460123"]],
    ["(020) 7946.0123", ["tel:02079460123"]],
    ["030/1234567", ["tel:0301234567"]],
    ["Priya: 020 7946 0123 / 020 7946 0124", ["tel:02079460123", "tel:02079460124"]],
    ["07700 900123; priya.s+1@example.co.uk", ["tel:07700900123", "mailto:priya.s%2B1@example.co.uk"]],
    ["a?bcc=x@example.com", ["mailto:a%3Fbcc%3Dx@example.com"]],
    ["flat 12, ring 345", []],
    ["from 2026-11-28", []],
    ["1".repeat(20), []],
    ["Priya", []],
    ["", []],
  ])("%j has the links %j", (contact, expected) => {
    expect(links(contact)).toEqual(expected);
    const text = parseContact(contact).map((part) => part.text);
    expect(text.join("")).toBe(contact);
  });

  it("is read in linear time", () => {
    for (const text of ["1 ".repeat(50_000), "a@".repeat(50_000), "+(1".repeat(50_000)])
      expect(parseContact(text).length).toBeGreaterThan(0);
  });
});

it("searches a map for an address of several lines", () => {
  expect(new URL(mapUrl("5 Mill Lane\r\n\r\nLeeds & more ", null)).searchParams.get("query")).toBe(
    "5 Mill Lane, Leeds & more",
  );
});
