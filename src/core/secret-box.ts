/** Encrypts secrets at rest with AES-256-GCM. The key is derived from WAYMARK_SECRET; each ciphertext is bound to a context. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export type SecretBox = ReturnType<typeof createSecretBox>;

/** A ciphertext and the context it is bound to. */
export interface SealedValue {
  readonly sealed: string;
  readonly context: string;
}

/** True if `box` can decrypt the value. */
export function canOpen(box: Pick<SecretBox, "open">, { sealed, context }: SealedValue): boolean {
  try {
    box.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}

/** Marks the format, so that a later format can coexist with this one. */
const VERSION_PREFIX = "s1.";
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The HKDF info of the encryption key; other purposes get other keys. */
const KEY_PURPOSE = "waymark secret-box s1";

/** Decodes 32 bytes from base64, base64url or 64 hexadecimal digits. Returns null for any other text. */
export function parseSecret(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  // Node's base64 decoder accepts both alphabets.
  return /^([\w-]{43}=?|[A-Za-z0-9+/]{43}=)$/.test(text) ? Buffer.from(text, "base64") : null;
}

/** Creates a secret box from the 32 bytes of WAYMARK_SECRET. */
export function createSecretBox(secret: Uint8Array) {
  const keyFor = (purpose: string): Buffer =>
    Buffer.from(hkdfSync("sha256", secret, Buffer.alloc(0), purpose, 32));
  const key = keyFor(KEY_PURPOSE);
  return {
    /** Derives a 32-byte key from WAYMARK_SECRET for another purpose. */
    keyFor,
    /** Encrypts `text`. Decryption needs the same WAYMARK_SECRET and the same `context`. */
    seal(text: string, context: string): string {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return VERSION_PREFIX + sealed.toString("base64url");
    },
    /** Decrypts `sealed`. Throws an error that contains neither the text nor the secret. */
    open(sealed: string, context: string): string {
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
