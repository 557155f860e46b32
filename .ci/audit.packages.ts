/** The packages that users run: those that the server needs, and those that the console brings to their browsers. */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
/** Below `src/console`, and no part of it: what makes it. */
const OF_THE_BUILD = new Set(["build.ts", "vite.config.ts"]);
/** `from "@mantine/core/styles.css"`, `import "react"` and `import("react")`: the package's name alone. */
const IMPORT = /\b(?:from|import)[\s(]*"(@[\w.-]+\/[\w.-]+|[\w-][\w.-]*)[^"]*"/g;

interface Locked {
  dev?: true;
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
  peerDependencies?: Readonly<Record<string, string>>;
}

type Lock = Readonly<Record<string, Locked>>;

/** As package-lock.json names them, such as `node_modules/react`. The console's own stand among the tools there: a build takes them in. */
export async function packagesOfUsers(): Promise<Set<string>> {
  const { packages } = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Lock;
  };
  const served = Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true);
  const found = new Set(served.map(([path]) => path));
  for (const name of await importsOfConsole()) addWithNeeds(packages, placeOf(packages, "", name), found);
  return found;
}

async function importsOfConsole(): Promise<Set<string>> {
  const folder = join(ROOT, "src/console");
  const names = new Set<string>();
  for await (const file of glob("**/*.{ts,tsx}", { cwd: folder })) {
    if (OF_THE_BUILD.has(file)) continue;
    const text = await readFile(join(folder, file), "utf8");
    for (const [, name = ""] of text.matchAll(IMPORT)) names.add(name);
  }
  return names;
}

function addWithNeeds(packages: Lock, path: string | null, found: Set<string>): void {
  if (path === null || found.has(path)) return;
  found.add(path);
  const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
  const needs = { ...peerDependencies, ...optionalDependencies, ...dependencies };
  for (const name of Object.keys(needs)) addWithNeeds(packages, placeOf(packages, path, name), found);
}

/** Where the package at `from` finds `name`: in its own folder, or in the nearest above. Null: it is not installed. */
function placeOf(packages: Lock, from: string, name: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const path = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (path in packages) return path;
    if (at === "") return null;
  }
}
