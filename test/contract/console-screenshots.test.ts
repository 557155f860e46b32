/** The pages on the console show exactly the pictures taken by `npx node scripts/take-screenshots.ts`. */
import { readdir, stat } from "node:fs/promises";
import { expect, it } from "vitest";
import { readPage } from "../support/docs/guide-pages.ts";

const pictures = new URL("../../docs/guide/screenshots/", import.meta.url);
const LIMIT_BYTES = 4_000_000;

it("shows every picture", async () => {
  const pages = readPage("guide/console.md") + readPage("operate/console.md");
  const shown = [...pages.matchAll(/screenshots\/([\w-]+\.png)/g)].map(([, name]) => name);
  expect(new Set(shown)).toEqual(new Set(await readdir(pictures)));
});

it("has small pictures, because every clone contains them", async () => {
  const sizes = await Promise.all(
    (await readdir(pictures)).map(async (name) => (await stat(new URL(name, pictures))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(LIMIT_BYTES);
});
