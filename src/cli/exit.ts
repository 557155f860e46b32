/** Maps errors to an exit code, a text for standard error and a JSON document. */
import { AppError, StartupError, type Problem } from "../core/errors.ts";
import { escapeControlCharacters } from "./output.ts";

/** An invalid command line: an unknown command or option, a missing argument or a value of the wrong type. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string;

  constructor(message: string, command: string) {
    super(message);
    this.hint = `See: ${command} --help`;
  }
}

interface CliFailure {
  exitCode: 1 | 2;
  /** For standard error; empty if there is nothing to print. */
  text: string;
  document: { code: string; message: string; hint: string | null; details: unknown };
}

export function toCliFailure(error: unknown): CliFailure {
  if (error instanceof UsageError || error instanceof StartupError) {
    const { name, message, hint } = error;
    return createFailure(error instanceof UsageError ? 2 : 1, { code: name, message, hint, details: null });
  }
  if (error instanceof AppError) {
    const { code, message, details } = error;
    // An invalid value, in an option or in a file's header, is a usage error.
    const exitCode = code === "BadRequestException" ? 2 : 1;
    return createFailure(exitCode, { code, message, hint: hintFor(error), details });
  }
  return unexpectedFailure(error instanceof Error ? error : new Error(String(error)));
}

function unexpectedFailure(error: NodeJS.ErrnoException): CliFailure {
  const { name, message, stack = message, code, syscall } = error;
  const document = { code: "InternalError", message, hint: null, details: null };
  if (name === "AbortError")
    return createFailure(1, {
      ...document,
      code: "Interrupted",
      message: "Interrupted",
      hint: "Changes committed before the interruption are kept.",
    });
  if (code === "EPIPE") return { exitCode: 1, text: "", document };
  // The system's message names the file: "ENOENT: no such file or directory, open 'jobs.csv'".
  if (syscall !== undefined) return createFailure(1, { ...document, code: "FileError" });
  // A bug: the stack shows where.
  return { exitCode: 1, text: `Error: ${stack}`, document };
}

function createFailure(exitCode: 1 | 2, document: CliFailure["document"]): CliFailure {
  const { message, hint } = document;
  const text = hint === null ? `Error: ${message}` : `Error: ${message}\n${hint}`;
  return { exitCode, text: text.split("\n").map(escapeControlCharacters).join("\n"), document };
}

function hintFor({ code, resource, details }: AppError): string | null {
  if (resource !== null) return `Run \`waymark ${resource} list\` to see what exists.`;
  if (code === "ServiceUnavailableException")
    return "Check that PostgreSQL runs at DATABASE_URL and that this machine can connect to it.";
  if (Array.isArray(details) && details.length > 1)
    return (details as Problem[])
      .slice(1)
      .map(({ field, message }) => `${field} ${message}`)
      .join("\n");
  if (typeof details === "object" && details !== null && "known_columns" in details)
    return `Known columns: ${(details.known_columns as string[]).join(", ")}`;
  return null;
}
