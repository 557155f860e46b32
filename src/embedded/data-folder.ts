/** The data folder: where the embedded databases live, with the secrets that are made on first use and kept. */
import { randomBytes } from "node:crypto";
import { chown, link, mkdir, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { StartupError } from "../platform/errors.ts";
import { folderError, ignoreCode, systemCode } from "./system-errors.ts";
import { temporaryPath } from "./temporary-files.ts";

const keyPattern = /^[A-Za-z0-9_-]{43}$/u;

/** Creates the folder, readable by its owner alone, and proves that it can be written; StartupError otherwise. */
export async function prepareDataFolder(dataDir: string): Promise<void> {
  const folder = resolve(dataDir);
  try {
    // The parents get the ordinary mode, so that PostgreSQL's own user can pass through them.
    await mkdir(dirname(folder), { recursive: true }).catch(mapErrorCode("EEXIST", "ENOTDIR"));
    await mkdir(folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
    await assertWritable(folder);
  } catch (error) {
    throw folderError(folder, error);
  }
}

/** 32 random bytes as base64url, made on first use and kept in `secret`; processes that ask at once agree. */
export async function readOrCreateSecret(dataDir: string): Promise<string> {
  return readOrCreateKey(join(resolve(dataDir), "secret"));
}

/** The 256-bit key kept in `path`, mode 0600; made when absent. A damaged file is a StartupError, never replaced. */
export async function readOrCreateKey(path: string): Promise<string> {
  try {
    const key = (await readIfPresent(path)) ?? (await createKey(path));
    if (keyPattern.test(key)) return key;
  } catch (error) {
    throw folderError(path, error);
  }
  throw new StartupError(
    `The file ${path} is damaged: it should hold 43 characters of base64url.`,
    "Restore it from a backup. Deleting it makes Waymark create another, which cannot read what the old one protected.",
  );
}

/** The file's text, or null where there is none. */
export async function readIfPresent(path: string): Promise<string | null> {
  return (await readFile(path, "utf8").catch(ignoreCode("ENOENT"))) ?? null;
}

function mapErrorCode(code: string, better: string): (error: unknown) => never {
  return (error) => {
    throw systemCode(error) === code ? Object.assign(new Error("File in the way"), { code: better }) : error;
  };
}

async function assertWritable(folder: string): Promise<void> {
  if (!(await stat(folder)).isDirectory())
    throw Object.assign(new Error("File in the way"), { code: "EEXIST" });
  const probe = temporaryPath(join(folder, "probe"));
  await writeFile(probe, "", { flag: "wx" });
  await rm(probe);
}

/** Written aside, then linked: the name appears with its whole content, and only the first of several wins. */
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

async function writeTemporaryFile(draft: string, text: string): Promise<void> {
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  // Root keeps the folder usable for the one it belongs to.
  const owner = await stat(dirname(draft));
  if (process.getuid?.() === 0 && owner.uid !== 0) await chown(draft, owner.uid, owner.gid);
}
