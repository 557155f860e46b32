/** Packs the clients and the starter kits of `clients/` into a folder that the server offers at `/sdk`. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import {
  packageFiles,
  SDK_ALIASES,
  SDK_INDEX_FILE,
  type SdkClient,
  type SdkFile,
  type SdkIndex,
  type SdkLanguage,
} from "./api.ts";
import { buildStarterKits } from "./build-starter-kits.ts";
import { buildClients, readReleasedClients, RELEASED_DIR, sha256, type ClientPackages } from "./released.ts";

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
