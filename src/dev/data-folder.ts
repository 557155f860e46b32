/** The data folder: holds the embedded databases and the generated secrets. */
import { randomBytes } from "node:crypto";
import { chownSync, statSync } from "node:fs";
import { access, constants, link, mkdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { StartupError } from "../core/errors.ts";
import { folderError, ignoreCode, systemCode } from "./system-errors.ts";

const keyPattern = /^[A-Za-z0-9_-]{43}$/u;

/** Creates the folder with mode 0700, checks that it is writable, and returns its path without symbolic links. Throws StartupError. */
export async function prepareDataFolder(dataDir: string): Promise<string> {
  const folder = resolve(dataDir);
  try {
    // The parent folders get the default mode, so that PostgreSQL's system user can traverse them.
    await mkdir(dirname(folder), { recursive: true }).catch((error: unknown) => {
      throw systemCode(error) === "EEXIST"
        ? Object.assign(new Error("No folder"), { code: "ENOTDIR" })
        : error;
    });
    await mkdir(folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
    if (!(await stat(folder)).isDirectory()) throw Object.assign(new Error("No folder"), { code: "EEXIST" });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(folder);
  } catch (error) {
    throw folderError(folder, error);
  }
}

/**
 * Returns the key in `path` (mode 0600): 32 bytes as base64url. Creates a missing file, also if several processes do at the same
 * time. Throws StartupError if the file is damaged.
 */
export async function readOrCreateKey(path: string): Promise<string> {
  try {
    const key = (await readIfPresent(path)) ?? (await createKey(path));
    if (keyPattern.test(key)) return key;
  } catch (error) {
    throw folderError(path, error);
  }
  throw new StartupError(
    `The file ${path} is damaged: it must contain 43 base64url characters.`,
    "Restore it from a backup. If you delete it, Waymark creates a new key, which cannot decrypt the existing data.",
  );
}

/** If Waymark runs as root, gives a new file to the owner of its folder, who may run Waymark later. */
export function giveToFolderOwner(path: string): void {
  const { uid, gid } = statSync(dirname(path));
  if (process.getuid?.() === 0 && uid !== 0) chownSync(path, uid, gid);
}

/** Returns the file's text; null if it does not exist. */
export async function readIfPresent(path: string): Promise<string | null> {
  return (await readFile(path, "utf8").catch(ignoreCode("ENOENT"))) ?? null;
}

/** Writes a temporary file and links it to `path`, so that the file is never partial and only one process creates it. */
async function createKey(path: string): Promise<string> {
  const temporaryFile = `${path}.${randomBytes(4).toString("hex")}`;
  try {
    const key = randomBytes(32).toString("base64url");
    await writeFile(temporaryFile, key, { flag: "wx", mode: 0o600, flush: true });
    giveToFolderOwner(temporaryFile);
    await link(temporaryFile, path).catch(ignoreCode("EEXIST"));
  } finally {
    await rm(temporaryFile, { force: true });
  }
  return readFile(path, "utf8");
}
