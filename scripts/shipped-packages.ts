/** Finds the packages that users run: the server's dependencies and those bundled into the console. */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
/** Files in `src/console` that build the console and are not part of the bundle. */
const BUILD_FILES = new Set(["build.ts", "vite.config.ts"]);
/** Captures the package name in `from "@mantine/core/styles.css"`, `import "react"` and `import("react")`. */
const IMPORT_PATTERN = /\b(?:from|import)[\s(]*"(@[\w.-]+\/[\w.-]+|[\w-][\w.-]*)[^"]*"/g;

interface LockedPackage {
  dev?: true;
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
  peerDependencies?: Readonly<Record<string, string>>;
}

type LockedPackages = Readonly<Record<string, LockedPackage>>;

/**
 * Returns lock-file paths such as `node_modules/react`. The console's dependencies are devDependencies, so they are found
 * from its imports.
 */
export async function findShippedPackages(): Promise<Set<string>> {
  const { packages } = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: LockedPackages;
  };
  const serverPackages = Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true);
  const found = new Set(serverPackages.map(([path]) => path));
  for (const name of await findConsoleImports())
    addWithDependencies(packages, resolvePackagePath(packages, "", name), found);
  return found;
}

async function findConsoleImports(): Promise<Set<string>> {
  const folder = join(ROOT, "src/console");
  const names = new Set<string>();
  for await (const file of glob("**/*.{ts,tsx}", { cwd: folder })) {
    if (BUILD_FILES.has(file)) continue;
    const text = await readFile(join(folder, file), "utf8");
    for (const [, name = ""] of text.matchAll(IMPORT_PATTERN)) names.add(name);
  }
  return names;
}

function addWithDependencies(packages: LockedPackages, path: string | null, found: Set<string>): void {
  if (path === null || found.has(path)) return;
  found.add(path);
  const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
  const dependenciesToAdd = { ...peerDependencies, ...optionalDependencies, ...dependencies };
  for (const name of Object.keys(dependenciesToAdd))
    addWithDependencies(packages, resolvePackagePath(packages, path, name), found);
}

/** Resolves `name` from the package at `from`: in its own node_modules or the nearest parent's. Null if not installed. */
function resolvePackagePath(packages: LockedPackages, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (path in packages) return path;
    if (folder === "") return null;
  }
}
