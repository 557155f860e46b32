/** Classifies errors of the operating system by code and describes them in sentences. */
import { StartupError } from "../core/errors.ts";

/** Returns the error's string code, such as `ENOENT` or a SQLSTATE; undefined if it has none. */
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
export function folderError(path: string, error: unknown): Error {
  const code = systemCode(error);
  if (error instanceof StartupError || code === undefined)
    return error instanceof Error ? error : new Error(String(error));
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  return new StartupError(
    `Waymark cannot use ${path}: ${reasonByCode[code] ?? code}.`,
    isFull
      ? "Free some space, or set WAYMARK_DATA_DIR to another disk."
      : "Set WAYMARK_DATA_DIR to a folder that the user who runs Waymark can write to.",
    error,
  );
}

const reasonByCode: Readonly<Record<string, string>> = {
  EEXIST: "it is a file, not a folder",
  ENOTDIR: "a part of this path is a file, not a folder",
  EACCES: "no permission to read or write it",
  EPERM: "no permission to read or write it",
  EROFS: "its file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
};
