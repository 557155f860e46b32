/** Extracts errors from the JSON log of `mongod`. */

interface LogEntry {
  /** Severity: I (info), W (warning), E (error) or F (fatal). */
  s?: string;
  msg?: string;
  attr?: { error?: string | { errmsg?: string } };
}

const maxShownErrors = 5;

/** Returns up to 5 lines: logged errors and non-JSON output from before logging started. */
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

/** Returns null for a line that is not JSON, such as one whose beginning was cut off. */
function parseEntry(line: string): LogEntry | null {
  try {
    return JSON.parse(line) as LogEntry;
  } catch {
    return null;
  }
}
