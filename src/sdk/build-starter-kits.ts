/** Packs the starter kits of `clients/examples`. */
import { readdir, readFile } from "node:fs/promises";
import { basename, extname, join, relative, sep } from "node:path";
import { isInstalled } from "./installed.ts";
import { tarball } from "./tarball.ts";

const SOURCE_DIR = join(import.meta.dirname, "..", "..", "clients", "examples");

/** Formats of sources. Settings (`.env`) and databases of a kit that ran are not among them. */
const SOURCE_FORMATS = new Set([".css", ".html", ".json", ".md", ".py", ".sh", ".ts", ".tsx"]);

/** Returns a `.tgz` with one folder for each kit. */
export async function buildStarterKits(): Promise<Buffer> {
  const entries = await readdir(SOURCE_DIR, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(SOURCE_DIR, join(parentPath, name)))
    .filter(isSource);
  const files = await Promise.all(
    paths.map(async (path): Promise<[string, Uint8Array]> => [
      path.split(sep).join("/"),
      await readFile(join(SOURCE_DIR, path)),
    ]),
  );
  return await tarball("waymark-starter-kits", new Map(files));
}

function isSource(path: string): boolean {
  // A file outside the folders of the kits is for Waymark's own checks.
  if (!path.includes(sep) || isInstalled(path)) return false;
  return SOURCE_FORMATS.has(extname(path)) || [".gitignore", ".npmrc"].includes(basename(path));
}
