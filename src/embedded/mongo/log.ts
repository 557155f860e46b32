/** Reads the log of a `mongod`, a line of JSON for each thing that it says. */

interface LogEntry {
  /** I, W, E or F: from an information to what ends it. */
  s?: string;
  msg?: string;
  attr?: { error?: string | { errmsg?: string } };
}

const maxShownErrors = 5;

/** What went wrong, a line for each fault: those that it logged as such, and what it said before it could log. */
export function parseErrors(log: string): string {
  const lines = log.split("\n").filter((line) => line !== "");
  const errors = lines.flatMap(parseError);
  return (errors.length > 0 ? errors.slice(0, maxShownErrors) : lines.slice(-1)).join("\n");
}

function parseError(line: string): string[] {
  const entry = parseEntry(line);
  if (entry === null) return [line];
  if (entry.s !== "E" && entry.s !== "F") return [];
  const { error } = entry.attr ?? {};
  const reason = typeof error === "string" ? error : error?.errmsg;
  return [[entry.msg?.trim(), reason].filter(Boolean).join(": ")];
}

/** Null where it is no such line, or one of which the beginning was cut off. */
function parseEntry(line: string): LogEntry | null {
  try {
    return JSON.parse(line) as LogEntry;
  } catch {
    return null;
  }
}
