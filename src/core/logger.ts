/** The logger: one JSON object per line. */
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from "pino";

export type { Logger };

/**
 * Creates a logger that writes to `stream` (default: standard output) and adds the fields of `logContext()` to each line.
 * Never log secrets, nor personal data at info level or above.
 */
export function createLogger(level: string, stream?: DestinationStream, logContext?: () => object): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    ...(logContext && { mixin: logContext }),
  };
  return stream ? pino(options, stream) : pino(options);
}

/** Returns the fields of an error that are safe to log. PostgreSQL's `detail` and `where` are not: they quote personal data. */
export function serializeError(error: unknown) {
  if (!(error instanceof Error))
    return { name: "unknown", message: "a value that is not an Error was thrown", code: null };
  const { name, message, code, stack } = error as Error & { code?: unknown };
  return { name, message, code, stack };
}
