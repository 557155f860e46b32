/** The headers in which clients send keys. */
import { AppError } from "../core/errors.ts";

/** A 401 with the WWW-Authenticate header that RFC 9110 requires. */
export function unauthorized(message: string): AppError {
  return new AppError("UnauthorizedException", message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/** The 401 for a request without a key. */
export function keyRequired(): AppError {
  return unauthorized("An API key is required, as x-api-key or as Authorization: Bearer");
}

/** The header lines that can have a key, as a client sent them. */
export type KeyHeader = readonly [name: string, value: string];

/** Returns the lines with a key among Node's `rawHeaders`. Its other properties hide repeated lines. */
export function keyHeadersOf(rawHeaders: readonly string[]): KeyHeader[] {
  const found: KeyHeader[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (isKeyHeader(name)) found.push([name, rawHeaders[index + 1] as string]);
  }
  return found;
}

export function isKeyHeader(name: string): boolean {
  return /^(?:x-api-key|authorization)$/i.test(name);
}

/**
 * Returns the key, or null if there is none. Ignores empty headers, and `Authorization` with another scheme. Throws
 * UnauthorizedException for different keys.
 */
export function findApiKey(headers: readonly KeyHeader[]): string | null {
  let found: string | null = null;
  for (const [name, value] of headers) {
    const isBearer = name.toLowerCase() === "authorization";
    const key = isBearer ? /^bearer +(\S+) *$/i.exec(value)?.[1] : value.trim();
    if (key === undefined || key === "" || key === found) continue;
    if (found !== null) throw unauthorized("The request contains different keys; send only one");
    found = key;
  }
  return found;
}

/** As `findApiKey`, but throws UnauthorizedException if there is no key. */
export function requireApiKey(headers: readonly KeyHeader[]): string {
  const key = findApiKey(headers);
  if (key === null) throw keyRequired();
  return key;
}
