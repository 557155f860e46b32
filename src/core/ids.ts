/** Typed ids: a prefix and a UUIDv7 in 26 characters of Crockford base32 (`job_01JD…`). PostgreSQL stores the UUID. */
import { randomFillSync } from "node:crypto";
import { raw } from "./postgres/sql.ts";

export type IdPrefix =
  | "job"
  | "evt"
  | "whe"
  | "dlv"
  | "att"
  | "org"
  | "key"
  | "usr"
  | "inv"
  | "arq"
  | "aud"
  | "eml"
  | "viw"
  // A ULID, not a UUIDv7.
  | "req";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const TYPED_ID = /^[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

/** The value of each hexadecimal digit by its character code. */
const HEX_VALUES = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) HEX_VALUES[value.toString(16).charCodeAt(0)] = value;
const BASE32_LETTERS = Buffer.from(ALPHABET);

const idBytes = Buffer.alloc(16);

/** Returns a new UUIDv7: 48 bits of milliseconds, then random bits, so that ids sort by creation time. */
export function newUuid(nowMs: number = Date.now()): string {
  fillIdBytes(nowMs);
  idBytes[6] = ((idBytes[6] as number) & 0x0f) | 0x70;
  idBytes[8] = ((idBytes[8] as number) & 0x3f) | 0x80;
  return hyphenate(idBytes.toString("hex"));
}

/** An SQL expression that generates a UUIDv7, for rows created inside PostgreSQL. (PostgreSQL has `uuidv7()` from version 18.) */
export const uuidV7Sql = raw(`encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
  placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
  52, 1), 53, 1), 'hex')::uuid`);

/** Returns the creation time of a UUIDv7, or of a ULID written as a UUID, in ISO 8601. */
export function timestampOf(uuid: string): string {
  return new Date(Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16)).toISOString();
}

/** Returns a new request id: `req_` and a ULID. */
export function newRequestId(): string {
  fillIdBytes(Date.now());
  return `req_${toBase32(hyphenate(idBytes.toString("hex")))}`;
}

/** Returns the smallest UUIDv7 of an instant, for reading rows by time through their ids. */
export function minUuidAt(instant: Date): string {
  // The timestamp has 48 bits and starts in 1970.
  const ms = Math.min(Math.max(instant.getTime(), 0), 2 ** 48 - 1);
  return hyphenate(`${ms.toString(16).padStart(12, "0")}70008000000000000000`);
}

/** True if `text` is a UUID with hyphens. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Returns `uuid` as the typed id that the API shows. */
export function toTypedId(prefix: IdPrefix, uuid: string): string {
  return `${prefix}_${toBase32(uuid)}`;
}

/** Returns the UUID of a typed id (upper or lower case), or null if `text` is not an id with this prefix. */
export function fromTypedId(prefix: IdPrefix, text: string): string | null {
  if (!text.startsWith(`${prefix}_`) || !TYPED_ID.test(text)) return null;
  const digits = Array.from(text.slice(4).toUpperCase(), (character) => ALPHABET.indexOf(character));
  let hex = toHex(digits.slice(0, 2), 2);
  for (let index = 2; index < 26; index += 4) hex += toHex(digits.slice(index, index + 4), 5);
  return hyphenate(hex);
}

/** The positions of a UUID's 32 digits, without its hyphens. */
const HEX_DIGIT_POSITIONS = Uint8Array.from(
  Array.from(hyphenate("x".repeat(32)), (character, index) => (character === "x" ? [index] : [])).flat(),
);
const base32Buffer = Buffer.alloc(26);

/**
 * Encodes a UUID in 26 characters: 8 bits in the first two, then 20 bits in each four. It works on bytes for speed, since
 * one response can hold hundreds of ids.
 */
function toBase32(uuid: string): string {
  const digit = (index: number): number =>
    HEX_VALUES[uuid.charCodeAt(HEX_DIGIT_POSITIONS[index] as number)] as number;
  let offset = 0;
  const write = (bits: number): void => {
    base32Buffer[offset++] = BASE32_LETTERS[bits & 31] as number;
  };
  const first = (digit(0) << 4) | digit(1);
  write(first >> 5);
  write(first);
  for (let index = 2; index < 32; index += 5) {
    const bits =
      (digit(index) << 16) |
      (digit(index + 1) << 12) |
      (digit(index + 2) << 8) |
      (digit(index + 3) << 4) |
      digit(index + 4);
    write(bits >> 15);
    write(bits >> 10);
    write(bits >> 5);
    write(bits);
  }
  return base32Buffer.toString("latin1");
}

function toHex(digits: readonly number[], length: number): string {
  return digits
    .reduce((bits, digit) => bits * 32 + digit, 0)
    .toString(16)
    .padStart(length, "0");
}

function hyphenate(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Random bytes for 256 ids: one call of `randomFillSync` costs as much as the rest of an id. */
const randomPool = Buffer.alloc(4096);
let randomPoolOffset = randomPool.length;

function fillIdBytes(nowMs: number): void {
  if (randomPoolOffset === randomPool.length) {
    randomFillSync(randomPool);
    randomPoolOffset = 0;
  }
  randomPool.copy(idBytes, 0, randomPoolOffset, (randomPoolOffset += idBytes.length));
  idBytes.writeUIntBE(nowMs, 0, 6);
}
