/** One JSON line an occurrence, on standard output (or wherever a command wants it). */
import { pino, type DestinationStream, type Logger } from "pino";

export type { Logger };

/** `stream` defaults to standard output. No secret and no personal data is ever passed to it at info level. */
export function createLogger(level: string, stream?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return stream ? pino(options, stream) : pino(options);
}
