/** What an error of PostgreSQL means to a caller. */
import { AppError, unavailable } from "../errors.ts";

/** Node's codes of a connection that could not be made or was lost. */
const CONNECTION_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
]);
/** Of one for which this process, or its system, has no file descriptor, memory or port left. */
const LOCAL_RESOURCE_CODES = new Set(["EMFILE", "ENFILE", "ENOBUFS", "EADDRNOTAVAIL"]);
/** Of a socket in the file system whose server is gone. The same codes of a file mean something else. */
const SOCKET_CODES = new Set(["ENOENT", "EACCES"]);
/**
 * SQLSTATEs: shutting down, crashed, starting up, dropped, idle for too long, too many connections, cancelled by a timeout,
 * read-only after a failover, a transaction that was idle or took too long, and a database that is gone.
 */
const UNAVAILABLE_STATES = new Set(
  "57P01 57P02 57P03 57P04 57P05 53300 57014 25006 25P03 25P04 3D000".split(" "),
);
/** Classes: the connection failed, and who was let in is no longer (a password that was changed). */
const UNAVAILABLE_CLASSES = ["08", "28"];
/** Classes of a server that answers and cannot: without disk or memory, or with an error of its system. */
const RESOURCE_CLASSES = ["53", "58"];
const CONTENTION_STATES = new Set(["40001", "40P01", "55P03"]);
const UNAVAILABLE_MESSAGES =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|connection is not queryable|not queryable/i;

/** Whether PostgreSQL is out of reach, rather than refusing this statement: its connection is good for nothing more. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = sqlState(error);
  if (code !== undefined) return isConnectionCode(error, code) || isUnavailableState(code);
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  return UNAVAILABLE_MESSAGES.test(error.message);
}

function isUnavailableState(code: string): boolean {
  return UNAVAILABLE_STATES.has(code) || UNAVAILABLE_CLASSES.some((digits) => code.startsWith(digits));
}

function isConnectionCode(error: NodeJS.ErrnoException, code: string): boolean {
  const isOfSocket = error.syscall === "connect" && SOCKET_CODES.has(code);
  return isOfSocket || CONNECTION_CODES.has(code) || LOCAL_RESOURCE_CODES.has(code);
}

/** Whether PostgreSQL has not what the statement needs, for now; its connection still stands. */
function isResourceExhausted(error: unknown): boolean {
  const state = error instanceof Error ? sqlState(error) : undefined;
  return state !== undefined && RESOURCE_CLASSES.some((digits) => state.startsWith(digits));
}

/** Whether PostgreSQL ended a statement, for running too long or for having nobody who waits for it. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && sqlState(error) === "57014";
}

/**
 * Whether others were changing the same rows or tables: a serialization failure (a row was moved to another partition, or a
 * standby had to replay its end), a deadlock, a lock that was not to be had. The statement has done nothing, and the same once
 * more may well succeed.
 */
export function isContentionError(error: unknown): boolean {
  return error instanceof Error && CONTENTION_STATES.has(sqlState(error) ?? "");
}

/** Whether PostgreSQL refused the values of one row (class 22, 23, or a rule of the operator's own). */
export function isDataError(error: unknown): boolean {
  const state = error instanceof Error ? sqlState(error) : undefined;
  return state !== undefined && (state.startsWith("22") || state.startsWith("23") || state.startsWith("P0"));
}

/** Whether PostgreSQL does not let this user, or this database, in. */
export function isAuthError(error: unknown): boolean {
  const state = error instanceof Error ? sqlState(error) : undefined;
  return state !== undefined && (state.startsWith("28") || state === "3D000" || state === "42501");
}

/** Throws: a 503 where PostgreSQL is away or cannot, otherwise the error as it is, so that whoever was in others' way can try again. */
export function translateDatabaseError(error: unknown): never {
  const isPassedThrough = error instanceof AppError || isContentionError(error);
  throw (isPassedThrough ? null : toUnavailable(error)) ?? error;
}

/** A 503 for what another try may mend; null for everything else. */
export function toUnavailable(error: unknown): AppError | null {
  if (error instanceof Error && LOCAL_RESOURCE_CODES.has(sqlState(error) ?? ""))
    return unavailable("The server has no connection left. Try again shortly.", 2, error);
  if (isConnectionError(error))
    return unavailable("The database is out of reach. Try again shortly.", 2, error);
  if (isContentionError(error))
    return unavailable("Others are changing the same. Try again shortly.", 1, error);
  return isResourceExhausted(error)
    ? unavailable("The database cannot do this now. Try again shortly.", 5, error)
    : null;
}

/** The SQLSTATE, or Node's code. */
function sqlState(error: Error): string | undefined {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" ? code : undefined;
}
