/** The data folder: holds the embedded databases and the generated secrets. */
import { randomBytes } from "node:crypto";
import { chown, link, mkdir, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { StartupError } from "../platform/errors.ts";
import { folderError, ignoreCode, systemCode } from "./system-errors.ts";
import { temporaryPath } from "./temporary-files.ts";

const keyPattern = /^[A-Za-z0-9_-]{43}$/u;

/** Creates the folder with mode 0700 and checks that it is writable. Throws StartupError. */
export async function prepareDataFolder(dataDir: string): Promise<void> {
  const folder = resolve(dataDir);
  try {
    // The parent folders get the default mode, so that PostgreSQL's system user can traverse them.
    await mkdir(dirname(folder), { recursive: true }).catch(mapErrorCode("EEXIST", "ENOTDIR"));
    await mkdir(folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
    await assertWritable(folder);
  } catch (error) {
    throw folderError(folder, error);
  }
}

/** Returns the key in the file `secret`: 32 bytes as base64url, created on first use. Safe to call from several processes. */
export async function readOrCreateSecret(dataDir: string): Promise<string> {
  return readOrCreateKey(join(resolve(dataDir), "secret"));
}

/** Returns the 256-bit key in `path` (mode 0600) and creates a missing file. Throws StartupError if the file is damaged. */
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

/** Returns the file's text; null if it does not exist. */
export async function readIfPresent(path: string): Promise<string | null> {
  return (await readFile(path, "utf8").catch(ignoreCode("ENOENT"))) ?? null;
}

function mapErrorCode(code: string, replacement: string): (error: unknown) => never {
  return (error) => {
    throw systemCode(error) === code
      ? Object.assign(new Error("File in the way"), { code: replacement })
      : error;
  };
}

async function assertWritable(folder: string): Promise<void> {
  if (!(await stat(folder)).isDirectory())
    throw Object.assign(new Error("File in the way"), { code: "EEXIST" });
  const probe = temporaryPath(join(folder, "probe"));
  await writeFile(probe, "", { flag: "wx" });
  await rm(probe);
}

/** Writes a temporary file and links it to `path`, so that the file is never partial and only one process creates it. */
async function createKey(path: string): Promise<string> {
  const temporaryFile = temporaryPath(path);
  try {
    await writeTemporaryFile(temporaryFile, randomBytes(32).toString("base64url"));
    await link(temporaryFile, path).catch(ignoreCode("EEXIST"));
  } finally {
    await rm(temporaryFile, { force: true });
  }
  return readFile(path, "utf8");
}

async function writeTemporaryFile(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  // Root gives the file to the folder's owner, who may run Waymark later.
  const owner = await stat(dirname(path));
  if (process.getuid?.() === 0 && owner.uid !== 0) await chown(path, owner.uid, owner.gid);
}
