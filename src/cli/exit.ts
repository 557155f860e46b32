/** What is told of a failure, and the exit code that goes with it. */
import type { CommanderError } from "commander";
import { AppError, StartupError, type Problem } from "../platform/errors.ts";
import { escapeControlCharacters } from "./output.ts";

/** The command line itself is wrong: an unknown command or option, a missing argument, a value of the wrong kind. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string;
  /** Whether Commander printed the help already, which says it all. */
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
  /** For standard error; empty where there is nothing to add. */
  text: string;
  document: { code: string; message: string; hint: string | null; details: unknown };
}

export function toCliFailure(error: unknown): CliFailure {
  if (error instanceof UsageError) {
    const usageFailure = createFailure(2, {
      code: error.name,
      message: error.message,
      hint: error.hint,
      details: null,
    });
    return error.hasPrintedHelp ? { ...usageFailure, text: "" } : usageFailure;
  }
  if (error instanceof StartupError) {
    return createFailure(1, { code: error.name, message: error.message, hint: error.hint, details: null });
  }
  if (error instanceof AppError) {
    const { code, message, details } = error;
    // A bad value, in an option or in a file's header, is wrong use.
    return createFailure(code === "BadRequestException" ? 2 : 1, {
      code,
      message,
      hint: hintFor(error),
      details,
    });
  }
  return unexpectedFailure(error);
}

const FILE_ERROR_TEXT: Readonly<Record<string, string>> = {
  ENOENT: "is not there",
  ENOTDIR: "has a file where a folder should be",
  EISDIR: "is a folder",
  EACCES: "may not be opened: permission denied",
  EPERM: "may not be opened: permission denied",
  EROFS: "is on a file system that is read-only",
  ENOSPC: "does not fit: the disk is full",
};

function unexpectedFailure(error: unknown): CliFailure {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const document = { code: "InternalError", message, hint: null, details: null };
  if (name === "AbortError") {
    return createFailure(1, {
      ...document,
      code: "Interrupted",
      message: "Interrupted",
      hint: "What was committed stays.",
    });
  }
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === "EPIPE") return { exitCode: 1, text: "", document };
  if (path !== undefined && code !== undefined && code in FILE_ERROR_TEXT) {
    return createFailure(1, { ...document, code: "FileError", message: `${path} ${FILE_ERROR_TEXT[code]}` });
  }
  // A defect, or a system's refusal that was not foreseen: the stack says where.
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

function hintFor({ code, message, details }: AppError): string | null {
  if (code === "NotFoundException") return hintForNotFound(message);
  if (code === "ServiceUnavailableException")
    return "Does PostgreSQL run where DATABASE_URL says, and may this machine reach it?";
  if (Array.isArray(details) && details.length > 1)
    return (details as Problem[])
      .slice(1)
      .map((problem) => `${problem.field} ${problem.message}`)
      .join("\n");
  if (typeof details === "object" && details !== null && "known_columns" in details) {
    return `The columns are: ${(details.known_columns as string[]).join(", ")}`;
  }
  return null;
}

function hintForNotFound(message: string): string | null {
  if (message.startsWith("Nobody has an account")) return null;
  if (message.includes("delivery")) return "`waymark deliveries list` shows what there is.";
  if (message.includes("endpoint")) return "`waymark endpoint list` shows what there is.";
  return "`waymark org list` and `waymark key list` show what there is.";
}
