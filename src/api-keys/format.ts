/**
 * Generates and parses keys, and finds them in headers. A key is the prefix (`wmk_` or `wmk_test_`, and 8 characters) + `_` + 43 of
 * secret (256 bits) + 6 of checksum.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { AppError } from "../core/errors.ts";
import type { OrganizationMode } from "../organizations/api.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY_PATTERN = /^(wmk_(?:test_)?[0-9a-z]{8})_[\w-]{43}[0-9A-Za-z]{6}$/;
const CHECKSUM_LENGTH = 6;

export interface GeneratedKey {
  /** The whole key: shown once, never stored. */
  text: string;
  prefix: string;
  hash: Buffer;
}

export function generateKey(mode: OrganizationMode = "live"): GeneratedKey {
  const digits = randomBytes(8).readBigUInt64BE().toString(36).slice(-8).padStart(8, "0");
  const prefix = `wmk_${mode === "test" ? "test_" : ""}${digits}`;
  const body = `${prefix}_${randomBytes(32).toString("base64url")}`;
  const text = body + checksumOf(body);
  return { text, prefix, hash: hashKey(text) };
}

/** Returns a key's prefix, or null if `text` isn't a well-formed key. The checksum saves look-ups of mistyped keys. */
export function parsePrefix(text: string): string | null {
  const [, prefix] = KEY_PATTERN.exec(text) ?? [];
  if (prefix === undefined) return null;
  const body = text.slice(0, -CHECKSUM_LENGTH);
  return checksumOf(body) === text.slice(-CHECKSUM_LENGTH) ? prefix : null;
}

/** 256 random bits need no slow hash: SHA-256 is enough to make a leaked table useless. */
export function hashKey(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function checksumOf(body: string): string {
  let remainder = crc32(body);
  let text = "";
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit += 1) {
    text = BASE62.charAt(remainder % 62) + text;
    remainder = Math.floor(remainder / 62);
  }
  return text;
}

/** A 401 with the WWW-Authenticate header that RFC 9110 requires. */
export function unauthorized(message: string): AppError {
  return new AppError("UnauthorizedException", message, { headers: { "WWW-Authenticate": "Bearer" } });
}

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
