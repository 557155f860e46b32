/** Webhook signatures according to Standard Webhooks 1.0: HMAC-SHA256 of `id.timestamp.body`. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from "node:crypto";

const PREFIX = "whsec_";
const SCHEME = "v1,";
/** The secret after its prefix: base64 of 24 to 64 bytes, as Standard Webhooks requires. */
const ENCODED_KEY = /^[A-Za-z0-9+/]{32,86}={0,2}$/;

export interface SignedMessage {
  /** The `webhook-id`. */
  id: string;
  /** The `webhook-timestamp` in seconds since 1970. */
  timestampS: number;
  /** The exact request body. */
  body: string | Uint8Array;
}

/** Creates a secret: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return PREFIX + randomBytes(32).toString("base64");
}

/** Decodes a secret to a key object. Signing with it takes a quarter of the time. */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(encodedKey(secret), "base64"));
}

/** The `webhook-signature` header: `v1,` and a base64 signature for each secret, separated by spaces. */
export function sign(secrets: readonly (string | KeyObject)[], message: SignedMessage): string {
  let signatures = "";
  for (const secret of secrets) {
    if (signatures !== "") signatures += " ";
    signatures +=
      SCHEME + computeSignature(typeof secret === "string" ? signingKey(secret) : secret, message);
  }
  return signatures;
}

export type VerifyCheck = "secret" | "headers" | "timestamp" | "signature";
export type Verification = { valid: true } | { valid: false; check: VerifyCheck; message: string };

export interface ReceivedWebhook {
  headers: {
    readonly "webhook-id"?: string | undefined;
    readonly "webhook-timestamp"?: string | undefined;
    readonly "webhook-signature"?: string | undefined;
  };
  /** As received, before any parsing. */
  body: string | Uint8Array;
}

export interface VerifyOptions {
  nowMs?: number;
  /** Allowed difference between the timestamp and now, in either direction. Default: 300 s. */
  toleranceS?: number;
}

/** Verifies signature and age of a webhook as a receiver does. Returns which check failed and why. */
export function verify(
  secret: string,
  { headers, body }: ReceivedWebhook,
  { nowMs = Date.now(), toleranceS = 300 }: VerifyOptions = {},
): Verification {
  if (!ENCODED_KEY.test(encodedKey(secret)))
    return invalid(
      "secret",
      `The secret must be whsec_ followed by base64, as shown on the endpoint's page.`,
    );
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const signatures = headers["webhook-signature"];
  if (!id || !timestamp || !signatures)
    return invalid("headers", "webhook-id, webhook-timestamp and webhook-signature are all required.");
  if (!/^\d{1,12}$/.test(timestamp))
    return invalid("timestamp", "webhook-timestamp must be an integer number of seconds since 1970.");

  const timestampS = Number(timestamp);
  const ageS = Math.round(nowMs / 1000 - timestampS);
  if (Math.abs(ageS) > toleranceS) return invalid("timestamp", timestampMessage(ageS, toleranceS));

  const expected = Buffer.from(computeSignature(signingKey(secret), { id, timestampS: timestamp, body }));
  const matches = signatures
    .split(" ")
    .some((candidate) => candidate.startsWith(SCHEME) && isEqualConstantTime(expected, candidate));
  if (matches) return { valid: true };
  return invalid(
    "signature",
    "No signature matches: the secret belongs to another endpoint, or the body differs from the bytes that were sent.",
  );
}

function timestampMessage(ageS: number, toleranceS: number): string {
  const age = ageS > 0 ? `${ageS} s old` : `${-ageS} s in the future`;
  return `The webhook is ${age}; at most ${toleranceS} s are accepted. It may come from a log, or a clock is wrong.`;
}

function isEqualConstantTime(expected: Buffer, candidate: string): boolean {
  const signature = Buffer.from(candidate.slice(SCHEME.length));
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

function invalid(check: VerifyCheck, message: string): Verification {
  return { valid: false, check, message };
}

function encodedKey(secret: string): string {
  return secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
}

/** The timestamp may be text, because a receiver must use the exact characters of the header. */
function computeSignature(
  key: KeyObject,
  { id, timestampS, body }: Omit<SignedMessage, "timestampS"> & { timestampS: number | string },
): string {
  const head = `${id}.${timestampS}.`;
  const hmac = createHmac("sha256", key);
  if (typeof body === "string") hmac.update(head + body);
  else hmac.update(head).update(body);
  return hmac.digest("base64");
}
