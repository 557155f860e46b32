/** Size of the scripts that a browser loads before the first page of the console. */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { BUILD_TIMEOUT_MS, buildSite } from "../support/site.ts";

const built = new URL("../../.site/console/", import.meta.url);
const LIMIT_BYTES = 250_000;

/** Vite's build manifest, by source file. */
interface Chunk {
  file: string;
  imports?: string[];
  dynamicImports?: string[];
}
type Manifest = Record<string, Chunk>;

const firstPages = {
  "the sign-in page": ["index.html", "pages/account/sign-in.page.tsx"],
  "the dashboard": [
    "index.html",
    "app/layout/shell.tsx",
    "app/interaction/toasts.tsx",
    "pages/dashboard/dashboard.page.tsx",
  ],
};

let manifest: Manifest;

beforeAll(async () => {
  await buildSite();
  manifest = JSON.parse(await readFile(new URL("manifest.json", built), "utf8")) as Manifest;
}, BUILD_TIMEOUT_MS);

/** Returns the scripts of the entries and of all their static imports. */
function scriptsOf(entries: readonly string[]): string[] {
  const seen = new Set(entries);
  for (const key of seen) for (const imported of manifest[key]!.imports ?? []) seen.add(imported);
  return [...seen].map((key) => manifest[key]!.file).filter((file) => file.endsWith(".js"));
}

describe.each(Object.entries(firstPages))("%s", (_page, entries) => {
  it(`loads less than ${LIMIT_BYTES / 1_000} kB of script, gzipped`, async () => {
    const scripts = await Promise.all(scriptsOf(entries).map((file) => readFile(new URL(file, built))));
    const bytes = scripts.reduce((sum, script) => sum + gzipSync(script, { level: 9 }).length, 0);

    // The sum would be 0 if no script had been found.
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(LIMIT_BYTES);
  });
});
