/** Checks that a program is a usable `mongod`. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const minMajorVersion = 5;

/** Returns null if the program is usable, otherwise the problem as a predicate, for example "does not run: …". */
export async function versionProblem(program: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: 10_000 });
    const [, version, major] = /^db version v((\d+)\.\d+\.\d+)/m.exec(stdout) ?? [];
    if (version === undefined) return "is not a MongoDB server";
    return Number(major) < minMajorVersion
      ? `is MongoDB ${version}, but Waymark needs ${minMajorVersion} or later`
      : null;
  } catch (error) {
    return `does not run: ${lastLineOf(error)}`;
  }
}

/** Returns the last line of an error message, without its full stop. */
export function lastLineOf(error: unknown): string {
  const { message } = error instanceof Error ? error : new Error(String(error));
  return message.trim().split("\n").at(-1)?.replace(/\.$/, "") ?? "";
}
