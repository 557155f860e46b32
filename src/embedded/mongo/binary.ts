/** Finds the program `mongod`: named by a setting, on the PATH, in the cache folder, or downloaded into it. */
import { execFile } from "node:child_process";
import { access, constants, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { StartupError } from "../../platform/errors.ts";
import { acquireLock } from "../lock-file.ts";
import { downloadMongod, installHint } from "./download.ts";
import { versionProblem } from "./version.ts";
import { folderError } from "../system-errors.ts";
import { removeAbandonedFiles } from "../temporary-files.ts";

export interface MongodSources {
  /** The program to use, whatever else there is; null where it is to be found. */
  readonly binary: string | null;
  /** What was downloaded is kept here, for every data folder. */
  readonly cacheDir: string;
  /** Whether it may be downloaded. */
  readonly download: boolean;
}

const lockPollMs = 100;
/** The path of a `mongod` that runs here; a StartupError, which says what was tried, where there is none. */
export async function findMongodBinary(
  { binary, cacheDir, download }: MongodSources,
  onProgress: (sentence: string) => void,
  signal: AbortSignal,
): Promise<string> {
  if (binary !== null) return await checkConfigured(binary);
  const installed = await findOnPath();
  if (installed !== null && (await versionProblem(installed)) === null) return installed;
  const cached = join(cacheDir, "mongod");
  if (await isExecutable(cached)) return cached;
  if (!download) {
    throw new StartupError(
      "There is no mongod on this computer, and MONGOD_DOWNLOAD=off forbids to download one.",
      installHint,
    );
  }
  await downloadWithLock(cached, cacheDir, { onProgress, signal });
  return cached;
}

async function checkConfigured(binary: string): Promise<string> {
  const problem = await versionProblem(binary);
  if (problem === null) return binary;
  throw new StartupError(
    `MONGOD_BINARY names ${binary}, which ${problem}.`,
    "Set it to a mongod, or unset it: Waymark then finds one.",
  );
}

/** As the shell finds it, so that the environment need not be read here. */
async function findOnPath(): Promise<string | null> {
  const found = promisify(execFile)("/bin/sh", ["-c", "command -v mongod"]);
  return await found.then(
    ({ stdout }) => stdout.trim() || null,
    () => null,
  );
}

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Several processes may look at once: one downloads, and the others find what it has put there. */
async function downloadWithLock(
  cached: string,
  cacheDir: string,
  how: { onProgress: (sentence: string) => void; signal: AbortSignal },
): Promise<void> {
  let isReported = false;
  for (;;) {
    const releaseLock = await mkdir(cacheDir, { recursive: true, mode: 0o700 })
      .then(() => acquireLock(join(cacheDir, "mongod-download.lock")))
      .catch((error: unknown) => {
        throw folderError(cacheDir, error);
      });
    try {
      if (await isExecutable(cached)) return;
      if (releaseLock !== null) {
        await removeAbandonedFiles(cacheDir);
        await downloadMongod(cached, how);
        return;
      }
    } finally {
      await releaseLock?.();
    }
    if (!isReported) how.onProgress("Another Waymark downloads MongoDB.");
    isReported = true;
    await pause(lockPollMs, undefined, { signal: how.signal });
  }
}
