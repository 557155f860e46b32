/** Typed ids: a prefix and the 26 Crockford base32 characters of a UUIDv7 (`job_01JD…`); PostgreSQL stores the uuid. */
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
  // Not a UUIDv7: a ULID has no version.
  | "req";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const TYPED_ID = /^[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

/** The values of hexadecimal digits by their codes, and the codes of the alphabet. */
const HEX_VALUES = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) HEX_VALUES[value.toString(16).charCodeAt(0)] = value;
const BASE32_LETTERS = Buffer.from(ALPHABET);

const idBytes = Buffer.alloc(16);

/** A new UUIDv7: 48 bits of milliseconds, then randomness, so that ids sort by their time of birth. */
export function newUuid(nowMs: number = Date.now()): string {
  fillIdBytes(nowMs);
  idBytes[6] = ((idBytes[6] as number) & 0x0f) | 0x70;
  idBytes[8] = ((idBytes[8] as number) & 0x3f) | 0x80;
  return hyphenate(idBytes.toString("hex"));
}

/** A new UUIDv7, made by PostgreSQL: for rows that are born in it. (Its own `uuidv7()` is there from version 18 on.) */
export const uuidV7Sql = raw(`encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
  placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
  52, 1), 53, 1), 'hex')::uuid`);

/** When a UUIDv7, or a ULID as a uuid, was made: in ISO 8601. */
export function timestampOf(uuid: string): string {
  return new Date(Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16)).toISOString();
}

/** The id of a request: `req_` and a ULID. */
export function newRequestId(): string {
  fillIdBytes(Date.now());
  return `req_${toBase32(hyphenate(idBytes.toString("hex")))}`;
}

/** The smallest UUIDv7 of an instant: where to begin when rows are read by time through their ids. */
export function minUuidAt(instant: Date): string {
  // 48 bits; before 1970 no id was made.
  const ms = Math.min(Math.max(instant.getTime(), 0), 2 ** 48 - 1);
  return hyphenate(`${ms.toString(16).padStart(12, "0")}70008000000000000000`);
}

/** Whether PostgreSQL would take it for a uuid as we write them. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** `uuid` as the API shows it. */
export function toTypedId(prefix: IdPrefix, uuid: string): string {
  return `${prefix}_${toBase32(uuid)}`;
}

/** The uuid of a typed id (upper or lower case), or null where `text` is not an id with this prefix. */
export function fromTypedId(prefix: IdPrefix, text: string): string | null {
  if (!text.startsWith(`${prefix}_`) || !TYPED_ID.test(text)) return null;
  const digits = Array.from(text.slice(4).toUpperCase(), (character) => ALPHABET.indexOf(character));
  let hex = toHex(digits.slice(0, 2), 2);
  for (let at = 2; at < 26; at += 4) hex += toHex(digits.slice(at, at + 4), 5);
  return hyphenate(hex);
}

/** Where a uuid has its 32 digits. */
const HEX_DIGIT_POSITIONS = Uint8Array.from(
  Array.from(hyphenate("x".repeat(32)), (character, at) => (character === "x" ? [at] : [])).flat(),
);
const base32Buffer = Buffer.alloc(26);

/**
 * A uuid as 26 characters: 8 bits in the first two, then 20 bits in each four. By its bytes, since an answer holds many
 * hundred ids.
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
  for (let at = 2; at < 32; at += 5) {
    const bits =
      (digit(at) << 16) | (digit(at + 1) << 12) | (digit(at + 2) << 8) | (digit(at + 3) << 4) | digit(at + 4);
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

/** Randomness is drawn for many ids at once: each draw costs as much as the rest of an id. */
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
