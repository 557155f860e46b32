/** The data folder: holds the embedded databases and the generated secrets. */
import { randomBytes } from "node:crypto";
import { access, constants, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { StartupError } from "../core/errors.ts";

const keyPattern = /^[A-Za-z0-9_-]{43}$/u;

/** Creates the folder with mode 0700, checks that it is writable, and returns its path without symbolic links. Throws StartupError. */
export async function prepareDataFolder(dataDir: string): Promise<string> {
  const folder = resolve(dataDir);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(folder);
  } catch (error) {
    throw folderError(folder, error);
  }
}

/** Returns the key in `path` (mode 0600): 32 bytes as base64url. Creates a missing file. Throws StartupError if it is damaged. */
export async function readOrCreateKey(path: string): Promise<string> {
  try {
    const key = randomBytes(32).toString("base64url");
    await writeFile(path, key, { flag: "wx", mode: 0o600, flush: true }).catch(ignoreCode("EEXIST"));
    const stored = await readFile(path, "utf8");
    if (keyPattern.test(stored)) return stored;
  } catch (error) {
    throw folderError(path, error);
  }
  throw new StartupError(
    `The file ${path} is damaged: it must contain 43 base64url characters.`,
    "Restore it from a backup. If you delete it, Waymark creates a new key, which cannot decrypt the existing data.",
  );
}

/** Returns the file's text; null if it does not exist. */
export async function readIfPresent(path: string): Promise<string | null> {
  return (await readFile(path, "utf8").catch(ignoreCode("ENOENT"))) ?? null;
}

/** Returns the code of a failed system call, such as `ENOENT`; undefined for other errors. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Returns a `.catch` handler that ignores errors with this code and rethrows others. */
export function ignoreCode(code: string): (error: unknown) => undefined {
  return (error) => {
    if (systemCode(error) !== code) throw error;
    return undefined;
  };
}

/** Returns a StartupError for a system error on `path`; other errors unchanged. */
export function folderError(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StartupError || systemCode(error) === undefined)
    return error;
  return new StartupError(
    `Waymark cannot use ${path}: ${error.message}.`,
    "Set WAYMARK_DATA_DIR to a folder that the user who runs Waymark can write to, on a disk with free space.",
    error,
  );
}
