/** Finds a `mongod` executable: from MONGOD_BINARY, on the PATH, in the cache folder, or by download. */
import { execFile } from "node:child_process";
import { access, constants, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { StartupError } from "../../core/errors.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { acquireLock } from "../lock-file.ts";
import { NotYet, retry } from "../retry.ts";
import { folderError, systemCode } from "../system-errors.ts";
import {
  checksumPath,
  downloadMongod,
  installHint,
  sha256Of,
  versionProblem,
  type DownloadOptions,
} from "./download.ts";

export interface MongodSources {
  /** Path from MONGOD_BINARY, used without alternatives; null to search. */
  readonly binary: string | null;
  /** Folder for the downloaded executable, shared by all data folders. */
  readonly cacheDir: string;
  /** MongoDB's own build only, any source, or none. */
  readonly download: DownloadOptions["sources"] | "off";
}

/** Longer than every source takes until its time-out. */
const downloadTimeoutMs = 15 * MINUTE_MS;

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
  const installed = await findOnPath();
  if (installed !== "" && (await versionProblem(installed)) === null) return installed;
  const cached = join(cacheDir, "mongod");
  if (await isExecutable(cached)) {
    if (await isUnchanged(cached)) return cached;
    onProgress(`${cached} has changed since it was downloaded, so Waymark does not run it.`);
  }
  if (download === "off") {
    throw new StartupError(
      "No mongod was found on this computer, and MONGOD_DOWNLOAD=off forbids downloading one.",
      installHint,
    );
  }
  await downloadWithLock(cached, cacheDir, { sources: download, onProgress, signal });
  return cached;
}

/** Returns an empty string if nothing is found. Asks the shell, because only the config reads the environment. */
async function findOnPath(): Promise<string> {
  const result = promisify(execFile)("/bin/sh", ["-c", "command -v mongod"]);
  return await result.then(
    ({ stdout }) => stdout.trim(),
    () => "",
  );
}

async function isExecutable(path: string): Promise<boolean> {
  return (await access(path, constants.X_OK).catch(() => false)) !== false;
}

/** True if the checksum of the download is still right. A file without one was put there by an older version. */
async function isUnchanged(cached: string): Promise<boolean> {
  const sum = await sha256Of(cached);
  try {
    return (await readFile(checksumPath(cached), "utf8")) === sum;
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw folderError(cached, error);
    await writeFile(checksumPath(cached), sum).catch(() => undefined);
    return true;
  }
}

/** Downloads under a lock: if several processes need `mongod`, one downloads it and the others wait. */
async function downloadWithLock(cached: string, cacheDir: string, options: DownloadOptions): Promise<void> {
  await mkdir(cacheDir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw folderError(cacheDir, error);
  });
  const download = async (): Promise<void> => {
    const release = acquireLock(join(cacheDir, "mongod-install.lock"));
    if (release === null) throw new NotYet("Another Waymark process is downloading MongoDB.");
    try {
      if (!(await isExecutable(cached)) || !(await isUnchanged(cached)))
        await downloadMongod(cached, options);
    } finally {
      release();
    }
  };
  await retry(download, { ...options, reportAfterMs: 0, timeoutMs: downloadTimeoutMs, hint: installHint });
}
