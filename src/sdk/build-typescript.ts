/** Builds the package of the TypeScript client. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { tarball } from "./tarball.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const SOURCE_DIR = join(ROOT, "clients", "typescript");
const TSC = join(ROOT, "node_modules", "typescript", "bin", "tsc");

/** Returns the npm package as `.tgz`. `version` is the version of the product. */
export async function buildTypescriptClient(version: string): Promise<Buffer> {
  const manifest = JSON.parse(await readFile(join(SOURCE_DIR, "package.json"), "utf8")) as { name: string };
  const { name, ...rest } = manifest;
  const files = await compile();
  files.set("package.json", Buffer.from(`${JSON.stringify({ name, version, ...rest }, null, 2)}\n`));
  files.set("README.md", await readFile(join(SOURCE_DIR, "README.md")));
  files.set("LICENSE", await readFile(join(ROOT, "LICENSE")));
  return await tarball("package", files);
}

/** Returns the compiled modules and their declarations by path. */
async function compile(): Promise<Map<string, Uint8Array>> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-client-"));
  try {
    await promisify(execFile)(process.execPath, [TSC, "-p", SOURCE_DIR, "--outDir", folder]);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    return new Map(
      await Promise.all(
        paths.map(async (path): Promise<[string, Uint8Array]> => [
          relative(folder, path).split(sep).join("/"),
          await readFile(path),
        ]),
      ),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
