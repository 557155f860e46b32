/** Packs the clients and the starter kits of `clients/` into a folder that the server offers at `/sdk`. */
import { mkdir, writeFile, readdir, readFile } from "node:fs/promises";
import { join, basename, extname, relative, sep } from "node:path";
import {
  packageFiles,
  SDK_ALIASES,
  SDK_INDEX_FILE,
  type SdkClient,
  type SdkFile,
  type SdkIndex,
  type SdkLanguage,
} from "./api.ts";
import { buildClients, readReleasedClients, RELEASED_DIR, sha256, type ClientPackages } from "./released.ts";
import { isInstalled } from "./installed.ts";
import { tarball } from "./tarball.ts";

import manifest from "../../package.json" with { type: "json" };

const PACKAGE_NAMES = { typescript: "@waymark/client", python: "waymark-client" } as const;

interface SdkSources {
  /** The version of the product. */
  version: string;
  releasedDir: string;
}

/** Writes the packages of this version and of earlier releases, the starter kits, and the index of all. */
export async function buildSdk(
  outDir: string,
  { version, releasedDir }: SdkSources = { version: manifest.version, releasedDir: RELEASED_DIR },
): Promise<void> {
  await mkdir(outDir, { recursive: true });
  const write = async (file: string, content: Buffer): Promise<SdkFile> => {
    await writeFile(join(outDir, file), content);
    return { file, sha256: sha256(content), size: content.length };
  };
  const writeClients = async (
    of: string,
    packages: ClientPackages,
    released: boolean,
  ): Promise<SdkClient[]> => {
    const languages = Object.keys(PACKAGE_NAMES) as SdkLanguage[];
    return await Promise.all(
      languages.map(async (language) => ({
        language,
        name: PACKAGE_NAMES[language],
        version: of,
        released,
        ...(of === version && { alias: SDK_ALIASES[language] }),
        ...(await write(packageFiles(of)[language], packages[language])),
      })),
    );
  };
  const older = await readReleasedClients(releasedDir);
  // A release keeps its bytes, even if the compiler has changed since.
  const released = older.get(version);
  older.delete(version);
  const clients = await writeClients(
    version,
    released ?? (await buildClients(version)),
    released !== undefined,
  );
  const olderClients = await Promise.all(
    [...older].map(([each, packages]) => writeClients(each, packages, true)),
  );
  const index: SdkIndex = {
    clients,
    older_clients: olderClients.flat(),
    starter_kits: await write("waymark-starter-kits.tgz", await buildStarterKits()),
  };
  await writeFile(join(outDir, SDK_INDEX_FILE), `${JSON.stringify(index, null, 2)}\n`);
}

const SOURCE_DIR = join(import.meta.dirname, "..", "..", "clients", "examples");

/** Formats of sources. Settings (`.env`) and databases of a kit that ran are not among them. */
const SOURCE_FORMATS = new Set([".css", ".html", ".json", ".md", ".py", ".sh", ".ts", ".tsx"]);

/** Returns a `.tgz` with one folder for each kit. */
async function buildStarterKits(): Promise<Buffer> {
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
