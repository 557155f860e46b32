/** The Markdown that the server sends: its links and pictures are rewritten, its code is not. */
import { describe, expect, it } from "vitest";
import { rewriteTargets } from "../../../src/guide/rewrite-targets.ts";

const rewrite = (text: string) =>
  rewriteTargets(text, { link: (target) => `link:${target}`, image: (target) => `image:${target}` });

describe("rewriteTargets", () => {
  it("rewrites links and pictures, in paragraphs, lists and tables", () => {
    expect(rewrite("See [a\nb](x.md#y).\n\n- ![c](z.png)\n\n| d |\n| --- |\n| [`e`](x.md) |")).toBe(
      "See [a\nb](link:x.md#y).\n\n- ![c](image:z.png)\n\n| d |\n| --- |\n| [`e`](link:x.md) |",
    );
  });

  it("keeps code", () => {
    const code = "```sh\n[a](x.md)\n```\n\n`[b](y.md)`";
    expect(rewrite(`${code}\n\n[a](x.md)`)).toBe(`${code}\n\n[a](link:x.md)`);
  });

  it.each(["[a](<x.md>)", '[a](x.md "title")', "[a]\n\n[a]: x.md"])(
    "rejects a link that it can't rewrite: %s",
    (text) => {
      expect(() => rewrite(text)).toThrow("the link to x.md has the form [label](target)");
    },
  );
});
