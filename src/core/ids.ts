/** Typed ids: a prefix and a UUIDv7 in 26 characters of Crockford base32 (`job_01JD…`). PostgreSQL stores the UUID. */
import { randomUUID } from "node:crypto";
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
  | "req";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const TYPED_ID = /^[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

/** Returns a new UUIDv7: 48 bits of milliseconds, then random bits, so that ids sort by creation time. */
export function newUuid(nowMs: number = Date.now()): string {
  return minUuidAt(new Date(nowMs)).slice(0, 15) + randomUUID().slice(15);
}

/** An SQL expression that generates a UUIDv7, for rows created inside PostgreSQL. (PostgreSQL has `uuidv7()` from version 18.) */
export const uuidV7Sql = raw(`encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
  placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
  52, 1), 53, 1), 'hex')::uuid`);

/** Returns the creation time of a UUIDv7 in ISO 8601. */
export function timestampOf(uuid: string): string {
  return new Date(Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16)).toISOString();
}

export function newRequestId(): string {
  return toTypedId("req", newUuid());
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
  let bits = 0n;
  for (const character of text.slice(4).toUpperCase())
    bits = bits * 32n + BigInt(ALPHABET.indexOf(character));
  return hyphenate(bits.toString(16).padStart(32, "0"));
}

const HYPHEN = "-".charCodeAt(0);
/** The value of each hexadecimal digit by its character code. */
const hexValues = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) hexValues[value.toString(16).charCodeAt(0)] = value;
const letters = Buffer.from(ALPHABET);
const base32Buffer = Buffer.alloc(26);

/** Encodes a UUID in 26 characters. It works on bytes for speed, since one response can hold hundreds of ids. */
function toBase32(uuid: string): string {
  let bits = 0;
  // 128 bits fill 26 characters of 5 bits with two zeros in front.
  let count = 2;
  let offset = 0;
  for (let index = 0; index < uuid.length; index += 1) {
    const code = uuid.charCodeAt(index);
    if (code === HYPHEN) continue;
    bits = (bits << 4) | (hexValues[code] as number);
    count += 4;
    if (count < 5) continue;
    count -= 5;
    base32Buffer[offset++] = letters[(bits >> count) & 31] as number;
  }
  return base32Buffer.toString("latin1");
}

function hyphenate(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
