/** What an error of PostgreSQL means to a caller. */
import { AppError, unavailable } from "./errors.ts";

/** Node's codes of a connection that could not be made or was lost. */
const CONNECTION_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
/** SQLSTATEs: shutting down, crashed, starting up, too many connections, cancelled by a timeout, read-only after a failover. */
const AWAY_STATES = new Set(["57P01", "57P02", "57P03", "53300", "57014", "25006", "25P03"]);
const AWAY_MESSAGES =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|connection is not queryable|not queryable/i;

/** Whether PostgreSQL is out of reach, rather than refusing this statement. */
export function isOutOfReach(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = sqlState(error);
  if (code !== undefined) return CONNECTION_CODES.has(code) || AWAY_STATES.has(code) || code.startsWith("08");
  if (error instanceof AggregateError) return error.errors.some(isOutOfReach);
  return AWAY_MESSAGES.test(error.message);
}

/** Whether PostgreSQL ended a statement, for running too long or for having nobody who waits for it. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && sqlState(error) === "57014";
}

/** Whether PostgreSQL refused the values of one row (class 22, 23, or a rule of the operator's own). */
export function isRefusedData(error: unknown): boolean {
  const state = error instanceof Error ? sqlState(error) : undefined;
  return state !== undefined && (state.startsWith("22") || state.startsWith("23") || state.startsWith("P0"));
}

/** Whether PostgreSQL does not let this user, or this database, in. */
export function isRefusedLogin(error: unknown): boolean {
  const state = error instanceof Error ? sqlState(error) : undefined;
  return state !== undefined && (state.startsWith("28") || state === "3D000" || state === "42501");
}

/** Throws: a 503 where PostgreSQL is away, otherwise the error as it is. */
export function translateDatabaseError(error: unknown): never {
  throw !(error instanceof AppError) && isOutOfReach(error) ? databaseAway(error) : error;
}

export function databaseAway(cause: unknown): AppError {
  return unavailable("The database is out of reach. Try again shortly.", 2, cause);
}

function sqlState(error: Error): string | undefined {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" ? code : undefined;
}
