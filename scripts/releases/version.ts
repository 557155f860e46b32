/** Sets the version of the product in each file that states it. */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageFiles } from "../../src/sdk/api.ts";
import { isInstalled } from "../../src/sdk/installed.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** The name of a client's package with its version, as in a URL of `/sdk`. */
const PACKAGE_FILE = /\b(?:waymark-client-\d[\w.-]*?\.tgz|waymark_client-\d[\w.]*-py3-none-any\.whl)/g;

/** Files that name the packages of the current version. */
const TEXTS = [
  "*.md",
  "docs/{guide,operate}/**/*.md",
  "clients/{typescript,python}/*.md",
  "clients/examples/*/*.{md,sh}",
];

/** Returns the names of packages in each text that has any. */
export function namedPackages(root = ROOT): { file: string; names: string[] }[] {
  return globSync(TEXTS, { cwd: root, exclude: (path) => isInstalled(path) })
    .filter((file) => file !== "CHANGELOG.md")
    .map((file) => ({ file, names: readFileSync(join(root, file), "utf8").match(PACKAGE_FILE) ?? [] }))
    .filter(({ names }) => names.length > 0);
}

/** Writes the version to `package.json`, its lock file, and the names of packages in texts. Throws if Python has no form of it. */
export function setVersion(version: string, root = ROOT): void {
  const { typescript, python } = packageFiles(version);
  const edit = (name: string, change: (text: string) => string): void => {
    const path = join(root, name);
    writeFileSync(path, change(readFileSync(path, "utf8")));
  };
  // The first entry of the lock file is the project, and "" is its entry in the list of packages.
  const own = /("name": "waymark",\n +"version": )"[^"]+"/g;
  for (const file of ["package.json", "package-lock.json"])
    edit(file, (text) => text.replaceAll(own, `$1"${version}"`));
  for (const { file } of namedPackages(root))
    edit(file, (text) =>
      text.replaceAll(PACKAGE_FILE, (name) => (name.endsWith(".tgz") ? typescript : python)),
    );
}

/** Generates the clients, which contain the version. */
export function generateClients(): void {
  for (const script of ["generate-python-client.ts", "generate-typescript-client.ts"])
    execFileSync(process.execPath, [join(ROOT, "scripts", script)], { cwd: ROOT, stdio: "inherit" });
}
