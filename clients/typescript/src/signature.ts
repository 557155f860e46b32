/** Signatures of Standard Webhooks 1.0, with WebCrypto: HMAC-SHA256 of `id.timestamp.body`. */

const PREFIX = "whsec_";
const encoder = new TextEncoder();

export interface SignedMessage {
  /** The `webhook-id`. */
  id: string;
  /** The `webhook-timestamp`: seconds since 1970. */
  timestamp: string;
  body: Uint8Array;
}

/** Creates a secret: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return PREFIX + toBase64(crypto.getRandomValues(new Uint8Array(32)));
}

/** True if `sign` accepts `secret`. */
export function isSecret(secret: string): boolean {
  return keyBytes(secret) !== null;
}

/** Returns the signature `v1,…`. Throws a RangeError if `secret` is not base64 of 24 to 64 bytes. */
export async function sign(secret: string, message: SignedMessage): Promise<string> {
  const signature = await crypto.subtle.sign("HMAC", await importKey(secret), signedContent(message));
  return `v1,${toBase64(new Uint8Array(signature))}`;
}

/** True if `signature`, base64, is one of `message` with `secret`. Takes the same time for every signature. */
export async function isSignature(
  secret: string,
  message: SignedMessage,
  signature: string,
): Promise<boolean> {
  const key = await importKey(secret);
  const bytes = fromBase64(signature);
  return bytes !== null && crypto.subtle.verify("HMAC", key, bytes, signedContent(message));
}

function importKey(secret: string) {
  const bytes = keyBytes(secret);
  if (!bytes) throw new RangeError("A webhook secret is whsec_ and the base64 of 24 to 64 bytes");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

/** Returns null if `secret` is malformed. */
function keyBytes(secret: string): Uint8Array<ArrayBuffer> | null {
  const bytes = fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  return bytes && bytes.length >= 24 && bytes.length <= 64 ? bytes : null;
}

function signedContent({ id, timestamp, body }: SignedMessage): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  return content;
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Returns null if `text` is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
