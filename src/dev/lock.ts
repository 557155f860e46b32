/** The lock of an embedded server: its owner holds it as long as the server runs. */
import { DatabaseSync } from "node:sqlite";
import { folderError } from "./data-folder.ts";

/** `service`: `npm start`, whose servers others may use. `command`: they must wait for its end. */
export type Owner = "service" | "command";

/** SQLite's result code. */
const busy = 5;

/**
 * Tries once. Returns the release function, or the current owner. The lock is SQLite's on an empty file that stays: the operating
 * system releases it when its process ends, however it ends. A command locks out readers too, which tells the two apart. Throws
 * StartupError.
 */
export function acquireLock(path: string, owner: Owner): (() => void) | Owner {
  let file: DatabaseSync | null = null;
  try {
    file = new DatabaseSync(path, { timeout: 0 });
    // Nothing is written, so SQLite needs no journal file.
    const kind = owner === "service" ? "immediate" : "exclusive";
    const begin = `pragma journal_mode = memory; begin ${kind}`;
    if (succeeds(file, begin)) return file.close.bind(file);
    const current = succeeds(file, "select count(*) from sqlite_schema") ? "service" : "command";
    file.close();
    return current;
  } catch (error) {
    file?.close();
    throw folderError(path, Object.assign(new Error(String(error)), { code: "EACCES" }));
  }
}

/** False if another connection's lock prevents the statement. */
function succeeds(file: DatabaseSync, statement: string): boolean {
  try {
    file.exec(statement);
    return true;
  } catch (error) {
    if (error instanceof Error && "errcode" in error && error.errcode === busy) return false;
    throw error;
  }
}
