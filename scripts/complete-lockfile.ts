/**
 * Completes both `package-lock.json` (the project's and that of `bench/`) after `npm install`: adds the entries that `npm ci`
 * requires for platform packages that npm could not find.
 *
 * A registry mirror may hold only the platform packages that its users fetch. `npm install` leaves the others out of the
 * lock file, and `npm ci` of npm 11.16 and later then refuses that same file (npm/cli#9846). Their version is pinned by the
 * package that lists them and their platform is spelled in their name, so the entry can be written without the registry.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

interface LockEntry {
  version?: string;
  cpu?: string[];
  dev?: true;
  libc?: string[];
  optional?: true;
  os?: string[];
  optionalDependencies?: Record<string, string>;
}

export interface LockFile {
  packages: Record<string, LockEntry>;
}

const PLATFORM_WORDS = {
  os: ["android", "darwin", "freebsd", "linux", "openharmony", "win32"],
  cpu: ["arm", "arm64", "ia32", "ppc64", "riscv64", "s390x", "x64"],
};

/** Returns the missing lock-file entries by path: optional dependencies that are pinned but have no entry. */
export function missingEntries(lock: LockFile): Record<string, LockEntry> {
  const missing: Record<string, LockEntry> = {};
  for (const [parentPath, parent] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const known = [`node_modules/${name}`, `${parentPath}/node_modules/${name}`].some(
        (path) => path in lock.packages,
      );
      if (!known) missing[`node_modules/${name}`] = createLockEntry(name, version, parent);
    }
  }
  return missing;
}

function createLockEntry(name: string, version: string, parent: LockEntry): LockEntry {
  const words = name.split(/[/-]/);
  const os = PLATFORM_WORDS.os.filter((word) => words.includes(word));
  const cpu = PLATFORM_WORDS.cpu.filter((word) => words.includes(word));
  if (!/^\d/.test(version) || os.length !== 1 || cpu.length !== 1) {
    throw new Error(`Cannot derive version and platform of ${name}@${version}: add its lock entry by hand`);
  }
  const libc = { gnu: "glibc", musl: "musl" }[words.at(-1) ?? ""];
  return {
    version,
    cpu,
    ...(parent.dev && { dev: true }),
    ...(libc !== undefined && { libc: [libc] }),
    optional: true,
    os,
  };
}

async function completeLockFile(name: string): Promise<void> {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const lock = JSON.parse(await readFile(path, "utf8")) as LockFile;
  const missing = missingEntries(lock);
  // npm sorts the entries with localeCompare.
  const packages = Object.entries({ ...lock.packages, ...missing }).toSorted(([a], [b]) =>
    a.localeCompare(b, "en"),
  );
  await writeFile(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`);
  console.log(`${name}: ${Object.keys(missing).length} entries added`);
}

if (import.meta.main) {
  await completeLockFile("package-lock.json");
  await completeLockFile("bench/package-lock.json");
}
