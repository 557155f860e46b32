/** Locks between processes. */
import { existsSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { giveToFolderOwner } from "./data-folder.ts";
import { folderError, ignoreCode } from "./system-errors.ts";

/** SQLite's result codes. */
const busy = 5;

/**
 * Tries once. Returns the release function, or null if a process, including this one, holds the lock. The lock is SQLite's on an
 * empty file that stays: the operating system releases it when its process ends, however it ends. Throws StartupError.
 */
export function acquireLock(path: string): (() => void) | null {
  try {
    createFile(path);
  } catch (error) {
    throw folderError(path, error);
  }
  // Nothing is written, so SQLite needs no journal file.
  const lock = openUnlessBusy(path, "pragma journal_mode = memory; begin exclusive");
  return lock && (() => lock.close());
}

/** True if a process holds the lock. Checks do not make each other fail; `acquireLock` may return null during one. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const reader = openUnlessBusy(path, "select count(*) from sqlite_schema");
  reader?.close();
  return reader === null;
}

function openUnlessBusy(path: string, statement: string): DatabaseSync | null {
  const file = new DatabaseSync(path, { open: false, timeout: 0 });
  try {
    file.open();
    file.exec(statement);
    return file;
  } catch (error) {
    if (file.isOpen) file.close();
    if (error instanceof Error && "errcode" in error && error.errcode === busy) return null;
    throw folderError(path, Object.assign(new Error("The lock file cannot be used"), { code: "EACCES" }));
  }
}

/** Creates the file if it is missing. An existing one is not opened: to close it would release this process's lock. */
function createFile(path: string): void {
  try {
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    ignoreCode("EEXIST")(error);
    return;
  }
  giveToFolderOwner(path);
}
