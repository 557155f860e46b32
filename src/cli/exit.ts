/** Maps errors to an exit code, a text for standard error and a JSON document. */
import type { CommanderError } from "commander";
import { AppError, StartupError, type Problem } from "../core/errors.ts";
import { escapeControlCharacters } from "./output.ts";

/** An invalid command line: an unknown command or option, a missing argument or a value of the wrong type. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string;
  /** True if Commander has already printed the help, so nothing more needs printing. */
  readonly hasPrintedHelp: boolean;

  constructor(error: CommanderError, command: string) {
    const isHelpShown = error.code === "commander.help";
    super(isHelpShown ? "No command was given" : error.message.replace(/^error: /, ""));
    this.hint = `See: ${command} --help`;
    this.hasPrintedHelp = isHelpShown;
  }
}

export interface CliFailure {
  exitCode: 1 | 2;
  /** For standard error; empty if there is nothing to print. */
  text: string;
  document: { code: string; message: string; hint: string | null; details: unknown };
}

export function toCliFailure(error: unknown): CliFailure {
  if (error instanceof UsageError) {
    const failure = createFailure(2, { ...documentOf(error), hint: error.hint });
    return error.hasPrintedHelp ? { ...failure, text: "" } : failure;
  }
  if (error instanceof StartupError) return createFailure(1, { ...documentOf(error), hint: error.hint });
  if (error instanceof AppError) {
    const { code, message, details } = error;
    // An invalid value, in an option or in a file's header, is a usage error.
    const exitCode = code === "BadRequestException" ? 2 : 1;
    return createFailure(exitCode, { code, message, hint: hintFor(error), details });
  }
  return unexpectedFailure(error);
}

function documentOf({ name, message }: Error): CliFailure["document"] {
  return { code: name, message, hint: null, details: null };
}

const FILE_ERROR_TEXT: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "has a file in its path where a folder is expected",
  EISDIR: "is a folder",
  EACCES: "cannot be opened: permission denied",
  EPERM: "cannot be opened: permission denied",
  EROFS: "is on a read-only file system",
  ENOSPC: "cannot be written: the disk is full",
};

function unexpectedFailure(error: unknown): CliFailure {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const document = { code: "InternalError", message, hint: null, details: null };
  if (name === "AbortError") {
    return createFailure(1, {
      ...document,
      code: "Interrupted",
      message: "Interrupted",
      hint: "Changes committed before the interruption are kept.",
    });
  }
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === "EPIPE") return { exitCode: 1, text: "", document };
  if (path !== undefined && code !== undefined && code in FILE_ERROR_TEXT) {
    return createFailure(1, { ...document, code: "FileError", message: `${path} ${FILE_ERROR_TEXT[code]}` });
  }
  // A bug, or a system error that no other case covers: the stack shows where.
  return { exitCode: 1, text: `Error: ${stack ?? message}`, document };
}

function createFailure(exitCode: 1 | 2, document: CliFailure["document"]): CliFailure {
  const lines = [`Error: ${document.message}`, ...(document.hint === null ? [] : [document.hint])];
  return {
    exitCode,
    text: lines.flatMap((text) => text.split("\n").map(escapeControlCharacters)).join("\n"),
    document,
  };
}

function hintFor({ code, resource, details }: AppError): string | null {
  if (resource !== null) return `Run \`waymark ${resource} list\` to see what exists.`;
  if (code === "ServiceUnavailableException")
    return "Check that PostgreSQL runs at DATABASE_URL and that this machine can connect to it.";
  if (Array.isArray(details) && details.length > 1)
    return (details as Problem[])
      .slice(1)
      .map((problem) => `${problem.field} ${problem.message}`)
      .join("\n");
  if (typeof details === "object" && details !== null && "known_columns" in details)
    return `Known columns: ${(details.known_columns as string[]).join(", ")}`;
  return null;
}
