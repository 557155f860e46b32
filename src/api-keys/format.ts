/** Generates and parses keys: the prefix (`wmk_` or `wmk_test_`, and 8 characters) + `_` + 43 of secret (256 bits) + 6 of checksum. */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
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
  const digits = BigInt(`0x${randomBytes(8).toString("hex")}`)
    .toString(36)
    .slice(-8)
    .padStart(8, "0");
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
