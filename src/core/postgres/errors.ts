/** Classifies errors of PostgreSQL and its connections, and translates them for callers. */
import { AppError, unavailable } from "../errors.ts";

/** Node's system calls of a connection that could not be opened or was lost. A TLS handshake has only a code. */
const CONNECTION_CALLS = new Set(["connect", "getaddrinfo", "read", "write"]);
/**
 * SQLSTATEs, in order: shut down by an administrator, crash, starting up, database dropped, idle session timeout, too many
 * connections, statement cancelled, read-only after a failover, idle or overlong transaction, database does not exist.
 */
const UNAVAILABLE_STATES = new Set(
  "57P01 57P02 57P03 57P04 57P05 53300 57014 25006 25P03 25P04 3D000".split(" "),
);
/** SQLSTATE classes: connection failure, and failed authentication (for example after a password change). */
const UNAVAILABLE_CLASSES = new Set(["08", "28"]);
/** SQLSTATE classes of a reachable server that is out of disk or memory, or has a system error. */
const RESOURCE_CLASSES = new Set(["53", "58"]);
const CONTENTION_STATES = new Set(["40001", "40P01", "55P03"]);
const UNAVAILABLE_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/i;

/** True if the connection failed rather than the statement, so that the connection must not be reused. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Of a host with several IP addresses. It has the code of its first error, and no system call.
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  const code = errorCode(error);
  if (code === undefined) return UNAVAILABLE_MESSAGES.test(error.message);
  const { syscall } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return CONNECTION_CALLS.has(syscall);
  return code === "ECONNRESET" || UNAVAILABLE_STATES.has(code) || UNAVAILABLE_CLASSES.has(stateClass(error));
}

/** True if PostgreSQL cancelled the statement, because of its timeout or at our request. */
export function isCancelled(error: unknown): boolean {
  return hasSqlState(error, "57014");
}

/**
 * True for a conflict with concurrent changes: a serialization failure (also a conflict with replay on a standby), a
 * deadlock, or a lock timeout. The statement had no effect and can be retried.
 */
export function isContentionError(error: unknown): boolean {
  return CONTENTION_STATES.has(errorCode(error) ?? "");
}

/** True if PostgreSQL rejected a row's values: SQLSTATE class 22 or 23, or an error raised by the operator's own trigger. */
export function isDataError(error: unknown): boolean {
  return ["22", "23", "P0"].includes(stateClass(error));
}

/** True if authentication failed, the database does not exist, or the user lacks a privilege. */
export function isAuthError(error: unknown): boolean {
  return stateClass(error) === "28" || ["3D000", "42501"].includes(errorCode(error) ?? "");
}

/** Throws a 503 for an unreachable or exhausted server. Rethrows all other errors, also contention, so that callers can retry. */
export function translateDatabaseError(error: unknown): never {
  throw toUnavailableUnlessContended(error) ?? error;
}

/** Returns an AppError unchanged, a 503 for an unreachable or exhausted server, and null for all other errors. */
export function toUnavailableUnlessContended(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  return isContentionError(error) ? null : toUnavailable(error);
}

/** Returns a 503 for errors that a retry may fix, otherwise null. */
export function toUnavailable(error: unknown): AppError | null {
  if (isConnectionError(error))
    return unavailable("The database is unreachable. Try again shortly.", 2, error);
  if (isContentionError(error))
    return unavailable("Another request is changing the same data. Try again shortly.", 1, error);
  return RESOURCE_CLASSES.has(stateClass(error))
    ? unavailable("The database is out of resources. Try again shortly.", 5, error)
    : null;
}

export function hasSqlState(error: unknown, state: string): boolean {
  return errorCode(error) === state;
}

/** Returns the SQLSTATE or Node's code of an Error. */
function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Returns the first two characters of the SQLSTATE, or an empty string. */
function stateClass(error: unknown): string {
  return errorCode(error)?.slice(0, 2) ?? "";
}
