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
    const { name: code, message, hint } = error;
    return createFailure(error instanceof UsageError ? 2 : 1, { code, message, hint, details: null });
  }
  if (error instanceof AppError) {
    const { code, message, details } = error;
    // An invalid value, in an option or in a file's header, is a usage error.
    const exitCode = code === "BadRequestException" ? 2 : 1;
    return createFailure(exitCode, { code, message, hint: hintFor(error), details });
  }
  const thrown: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  const { message } = thrown;
  if (thrown.name === "AbortError") {
    const hint = "Changes committed before the interruption are kept.";
    return createFailure(1, { code: "Interrupted", message: "Interrupted", hint, details: null });
  }
  // The system's message names the file: "ENOENT: no such file or directory, open 'jobs.csv'".
  if (thrown.syscall !== undefined && thrown.code !== "EPIPE")
    return createFailure(1, { code: "FileError", message, hint: null, details: null });
  // The stack shows where the bug is. A closed pipe is not a bug.
  const text = thrown.code === "EPIPE" ? "" : `Error: ${thrown.stack}`;
  return { exitCode: 1, text, document: { code: "InternalError", message, hint: null, details: null } };
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
