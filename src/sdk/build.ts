/** Packs the clients and the starter kits of `clients/` into a folder that the server offers at `/sdk`. */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { SDK_INDEX_FILE, type SdkFile, type SdkIndex } from "./api.ts";
import { buildPythonClient } from "./build-python.ts";
import { buildStarterKits } from "./build-starter-kits.ts";
import { buildTypescriptClient } from "./build-typescript.ts";

const { version } = manifest;

/** Writes the package of each client, the starter kits, and the index of all. */
export async function buildSdk(outDir: string): Promise<void> {
  await mkdir(outDir, { recursive: true });
  const write = async (file: string, content: Buffer): Promise<SdkFile> => {
    await writeFile(join(outDir, file), content);
    return { file, sha256: createHash("sha256").update(content).digest("hex"), size: content.length };
  };
  const wheel = await buildPythonClient(version);
  const index: SdkIndex = {
    clients: [
      {
        language: "typescript",
        name: "@waymark/client",
        version,
        ...(await write("waymark-client.tgz", await buildTypescriptClient(version))),
      },
      {
        language: "python",
        name: "waymark-client",
        version,
        alias: "waymark_client.whl",
        ...(await write(wheel.file, wheel.content)),
      },
    ],
    starter_kits: await write("waymark-starter-kits.tgz", await buildStarterKits()),
  };
  await writeFile(join(outDir, SDK_INDEX_FILE), `${JSON.stringify(index, null, 2)}\n`);
}
