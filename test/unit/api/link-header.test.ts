import { describe, expect, it } from "vitest";
import { linkHeader } from "../../../src/api/rest/link-header.ts";

type Page = Parameters<typeof linkHeader>[1];

/** Returns the URLs of a page's links by relation. */
function linksOf(url: string, page: Partial<Page>): Record<string, string> {
  const { Link = "" } = linkHeader(url, { page: 1, pageSize: 10, total: 0, nextCursor: null, ...page });
  return Object.fromEntries(
    [...Link.matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, target = "", relation = ""]) => [relation, target]),
  );
}

describe("the Link header", () => {
  it.each([
    [1, 0, { first: 1, last: 1 }],
    [1, 10, { first: 1, last: 1 }],
    [1, 11, { first: 1, next: 2, last: 2 }],
    [2, 11, { first: 1, prev: 1, last: 2 }],
    [2, 30, { first: 1, prev: 1, next: 3, last: 3 }],
    [9, 30, { first: 1, prev: 3, last: 3 }],
    [2, 0, { first: 1, prev: 1, last: 1 }],
  ])("of page %i with %i jobs in total has the right pages", (page, total, expected) => {
    const pages = Object.entries(linksOf("/l", { page, total })).map(([relation, url]) => [
      relation,
      Number(url.replace("/l?page=", "")),
    ]);
    expect(Object.fromEntries(pages)).toEqual(expected);
  });

  it("has only first and next for cursor pagination", () => {
    expect(linksOf("/l?cursor=old&q=x", { page: undefined, nextCursor: "new" })).toEqual({
      first: "/l?q=x",
      next: "/l?q=x&cursor=new",
    });
    expect(linksOf("/l?cursor=old", { page: undefined })).toEqual({ first: "/l" });
  });

  // evidence: pagination-links-keep-parameters
  it("keeps and escapes the other parameters", () => {
    const { first = "" } = linksOf("/l?q=a%26b%3Dc%3E%22?d&page=3&x=%C3%BC", { total: 1 });
    expect(Object.fromEntries(new URLSearchParams(first.slice("/l?".length)))).toEqual({
      q: 'a&b=c>"?d',
      x: "ü",
      page: "1",
    });
    expect(first).toMatch(/^[\x21-\x7e]+$/);
    expect(first).not.toMatch(/[<>"]/);
  });

  it("is left out if it would be too long", () => {
    expect(
      linkHeader(`/l?q=${"x".repeat(9_000)}`, { page: 1, pageSize: 10, total: 0, nextCursor: null }),
    ).toEqual({});
  });
});
