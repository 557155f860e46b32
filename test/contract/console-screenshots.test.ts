/** `docs/guide/console.md` shows exactly the pictures taken by `npx node scripts/take-screenshots.ts`. */
import { readdir, readFile, stat } from "node:fs/promises";
import { expect, it } from "vitest";

const guide = new URL("../../docs/guide/", import.meta.url);
const pictures = new URL("screenshots/", guide);
const LIMIT_BYTES = 3_000_000;

it("shows every picture", async () => {
  const page = await readFile(new URL("console.md", guide), "utf8");
  const shown = [...page.matchAll(/screenshots\/([\w-]+\.png)/g)].map(([, name]) => name);
  expect(new Set(shown)).toEqual(new Set(await readdir(pictures)));
});

it("has small pictures, because every clone contains them", async () => {
  const sizes = await Promise.all(
    (await readdir(pictures)).map(async (name) => (await stat(new URL(name, pictures))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(LIMIT_BYTES);
});
