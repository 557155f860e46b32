/** Files that a browser loads before the first page of the console shows its data. `test/browser/first-load.test.ts` counts the requests. */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, it } from "vitest";
import { BUILD_TIMEOUT_MS, buildSite } from "../support/site.ts";

const built = new URL("../../.site/console/", import.meta.url);
const LIMIT_BYTES = 250_000;
const shell = "app/layout/shell.tsx";

/** Vite's build manifest, by source file. */
interface Chunk {
  file: string;
  name?: string;
  css?: string[];
  imports?: string[];
  dynamicImports?: string[];
}
type Manifest = Record<string, Chunk>;

const firstPages = [
  { name: "the sign-in page", page: "pages/account/sign-in.page.tsx", maxFiles: 9, limitBytes: 180_000 },
  {
    name: "the dashboard",
    shell,
    page: "pages/dashboard/dashboard.page.tsx",
    maxFiles: 12,
    limitBytes: LIMIT_BYTES,
  },
  { name: "the jobs", shell, page: "pages/jobs/list/jobs.page.tsx", maxFiles: 11, limitBytes: LIMIT_BYTES },
];

let manifest: Manifest;

beforeAll(async () => {
  await buildSite();
  manifest = JSON.parse(await readFile(new URL("manifest.json", built), "utf8")) as Manifest;
}, BUILD_TIMEOUT_MS);

/** Returns the scripts and style sheets of the entries and of all their static imports. */
function filesOf(entries: readonly string[]): string[] {
  const seen = new Set(entries.map(chunkOf));
  for (const key of seen) for (const imported of manifest[key]!.imports ?? []) seen.add(imported);
  const chunks = [...seen].map((key) => manifest[key]!);
  return [...new Set(chunks.flatMap(({ file, css = [] }) => [file, ...css]))];
}

/** A module that shares its chunk with others has no separate entry. */
function chunkOf(source: string): string {
  const name = source.match(/([^/]+)\.tsx$/)?.[1];
  return source in manifest ? source : Object.keys(manifest).find((key) => manifest[key]!.name === name)!;
}

it.each(firstPages)("$name loads at most $maxFiles files and $limitBytes bytes, gzipped", async (first) => {
  const files = filesOf(["index.html", ...(first.shell ? [first.shell] : []), first.page]);
  const contents = await Promise.all(files.map((file) => readFile(new URL(file, built))));
  const bytes = contents.reduce((sum, content) => sum + gzipSync(content, { level: 9 }).length, 0);

  expect(files.length).toBeLessThanOrEqual(first.maxFiles);
  // The sum would be small if no script had been found.
  expect(bytes).toBeGreaterThan(100_000);
  expect(bytes).toBeLessThan(first.limitBytes);
});
