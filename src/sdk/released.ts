/**
 * The packages of released clients. `clients/released/<version>/` keeps them, so that their URLs return the same bytes after
 * each upgrade. `clients/released/SHA256SUMS` has a line for each file, oldest release first.
 */
import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { packageFiles, type SdkLanguage } from "./api.ts";
import { buildPythonClient } from "./build-python.ts";
import { buildTypescriptClient } from "./build-typescript.ts";

export const RELEASED_DIR = join(import.meta.dirname, "..", "..", "clients", "released");

export const CHECKSUMS_FILE = "SHA256SUMS";

export type ClientPackages = Readonly<Record<SdkLanguage, Buffer>>;

/** Builds the packages of both clients from their sources. `version` is the version of the product. */
export async function buildClients(version: string): Promise<ClientPackages> {
  const [typescript, wheel] = await Promise.all([buildTypescriptClient(version), buildPythonClient(version)]);
  return { typescript, python: wheel.content };
}

/** Returns the released packages by version, newest first. Throws if a file is absent or has changed since its release. */
export async function readReleasedClients(folder = RELEASED_DIR): Promise<Map<string, ClientPackages>> {
  const checksums = await readChecksums(folder);
  const versions = [...new Set([...checksums.keys()].map((path) => path.split("/", 1)[0] ?? ""))];
  const read = async (path: string): Promise<Buffer> => {
    const content = await readFile(join(folder, path));
    if (sha256(content) !== checksums.get(path))
      throw new Error(`clients/released/${path} has changed since its release. Restore it from the history`);
    return content;
  };
  const packages = versions.toReversed().map(async (version): Promise<[string, ClientPackages]> => {
    const { typescript, python } = packageFiles(version);
    return [
      version,
      { typescript: await read(`${version}/${typescript}`), python: await read(`${version}/${python}`) },
    ];
  });
  return new Map(await Promise.all(packages));
}

/** Keeps the packages of a release. Throws if that version was kept before. */
export async function keepReleasedClients(
  version: string,
  packages: ClientPackages,
  folder = RELEASED_DIR,
): Promise<void> {
  if ((await readReleasedClients(folder)).has(version))
    throw new Error(`clients/released/${version} exists: a release never changes`);
  await mkdir(join(folder, version), { recursive: true });
  for (const [language, file] of Object.entries(packageFiles(version)) as [SdkLanguage, string][]) {
    await writeFile(join(folder, version, file), packages[language]);
    await appendFile(join(folder, CHECKSUMS_FILE), `${sha256(packages[language])}  ${version}/${file}\n`);
  }
}

/** Returns why `built` can't have this version, or null. A version that is not released can have any packages. */
export async function findChangedRelease(
  version: string,
  built: ClientPackages,
  folder = RELEASED_DIR,
): Promise<string | null> {
  const released = (await readReleasedClients(folder)).get(version);
  const changed = (Object.keys(built) as SdkLanguage[]).filter(
    (language) => released && !released[language].equals(built[language]),
  );
  if (changed.length === 0) return null;
  return (
    `The packages of ${changed.join(" and ")} differ from those released as ${version}, which never change. ` +
    "Raise the version to a pre-release of the next one, such as 1.1.0-alpha: npx node scripts/set-version.ts VERSION"
  );
}

/** Returns the SHA-256 of each file by its path, in the order of the list. */
async function readChecksums(folder: string): Promise<Map<string, string>> {
  const list = await readFile(join(folder, CHECKSUMS_FILE), "utf8");
  const lines = list.split("\n").filter((line) => line !== "");
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

export function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
