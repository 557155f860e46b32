/** One JSON line an occurrence, on standard output (or wherever a command wants it). */
import { pino, type DestinationStream, type Logger } from "pino";

export type { Logger };

/**
 * `stream` defaults to standard output; what `contextOf` answers stands in each line. No secret and no personal data is ever
 * passed to it at info level.
 */
export function createLogger(level: string, stream?: DestinationStream, logContext?: () => object): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    ...(logContext && { mixin: logContext }),
  };
  return stream ? pino(options, stream) : pino(options);
}

/** What a log may hold of an error: PostgreSQL's `detail` and `where` quote values of rows, which are people's data. */
export function serializeError(error: unknown): {
  name: string;
  message: string;
  code: unknown;
  stack: string | undefined;
} {
  if (!(error instanceof Error))
    return {
      name: "unknown",
      message: "something that is no Error was thrown",
      code: null,
      stack: undefined,
    };
  return {
    name: error.name,
    message: error.message,
    code: (error as { code?: unknown }).code,
    stack: error.stack,
  };
}
