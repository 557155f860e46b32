/** Secrets at rest: AES-256-GCM under a key made of WAYMARK_SECRET, each bound to what it belongs to. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export interface SecretBox {
  /** `text` as something that only the same secret opens, and only for the same `context`. */
  seal(text: string, context: string): string;
  /** What was sealed. Throws an error that tells neither the text nor the secret. */
  open(sealed: string, context: string): string;
  /** 32 bytes that only the same secret gives, for another use than sealing here. */
  keyFor(purpose: string): Buffer;
}

/** What was sealed, and what for. */
export interface SealedValue {
  readonly sealed: string;
  readonly context: string;
}

/** Whether `box` opens it. */
export function canOpen(box: Pick<SecretBox, "open">, { sealed, context }: SealedValue): boolean {
  try {
    box.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}

/** Says how the rest is to be read, so that another cipher, or another key, can follow while this one is still read. */
const VERSION_PREFIX = "s1.";
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** What the key is for: the same setting makes another key for another use. */
const KEY_PURPOSE = "waymark secret-box s1";

const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;
const BASE64URL = /^[A-Za-z0-9_-]{43}=?$/;

/** The 32 bytes of a WAYMARK_SECRET: base64, base64url or 64 hexadecimal digits. Null where it is none of them. */
export function parseSecret(text: string): Buffer | null {
  if (HEX.test(text)) return Buffer.from(text, "hex");
  // Node's base64 reads both alphabets.
  return BASE64.test(text) || BASE64URL.test(text) ? Buffer.from(text, "base64") : null;
}

/** `secret`: 32 bytes. */
export function createSecretBox(secret: Uint8Array): SecretBox {
  const keyFor = (purpose: string): Buffer =>
    Buffer.from(hkdfSync("sha256", secret, Buffer.alloc(0), purpose, 32));
  const key = keyFor(KEY_PURPOSE);
  return {
    keyFor,
    seal(text, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return VERSION_PREFIX + sealed.toString("base64url");
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.slice(VERSION_PREFIX.length), "base64url");
      if (!sealed.startsWith(VERSION_PREFIX) || bytes.length < IV_BYTES + TAG_BYTES)
        throw unreadable(context);
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch {
        throw unreadable(context);
      }
    },
  };
}

function unreadable(context: string): Error {
  return new Error(`The secret of ${context} was sealed with another WAYMARK_SECRET, or is damaged`);
}
