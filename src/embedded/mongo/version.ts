/** Whether a program is a `mongod` that can be used. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const minMajorVersion = 5;

/** Null where it runs here and is new enough; else what is wrong with it, as the end of a sentence without its stop. */
export async function versionProblem(program: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: 10_000 });
    const [, version, major] = /^db version v((\d+)\.\d+\.\d+)/m.exec(stdout) ?? [];
    if (version === undefined) return "does not say which MongoDB it is";
    return Number(major) < minMajorVersion
      ? `is MongoDB ${version}, and Waymark needs ${minMajorVersion} or later`
      : null;
  } catch (error) {
    return `does not run: ${lastLineOf(error)}`;
  }
}

/** The last that a program said before it failed, or why it could not be started. */
export function lastLineOf(error: unknown): string {
  const { message } = error instanceof Error ? error : new Error(String(error));
  return message.trim().split("\n").at(-1)?.replace(/\.$/, "") ?? "";
}
