/** Creates, encrypts and decrypts the signing secrets of endpoints, and encrypts and decrypts their custom headers. */
import { createSecretKey, randomBytes, type KeyObject } from "node:crypto";
import { toTypedId } from "../../core/ids.ts";
import { canOpen, type SecretBox } from "../../core/secret-box.ts";
import { DAY_MS } from "../../core/time.ts";
import type { SealedSecret } from "../endpoints/entity.ts";

const PREFIX = "whsec_";

/** Creates a secret: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return PREFIX + randomBytes(32).toString("base64");
}

/** Decodes a secret, with or without its prefix, to a key object. Signing with it takes a quarter of the time. */
export function signingKey(secret: string): KeyObject {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  return createSecretKey(Buffer.from(encoded, "base64"));
}

/** The encryption context, which ties a sealed value to its endpoint. */
export const sealContext = (endpointId: string): string => `webhook_endpoint:${endpointId}`;

/** After a rotation, former secrets sign for another 24 hours, at most two of them. */
const OVERLAP_MS = DAY_MS;
const MAX_FORMER_SECRETS = 2;

export interface NewSecret {
  /** The plain-text secret, for the owner. */
  text: string;
  /** The sealed secrets to store: the new one first, then former ones that are still active. */
  secrets: SealedSecret[];
}

/** Creates a secret and lets the former ones expire. Drops secrets that cannot be decrypted, because they cannot sign. */
export function addSecret(
  secretBox: SecretBox,
  endpointId: string,
  { former, nowMs }: { former: readonly SealedSecret[]; nowMs: number },
): NewSecret {
  const text = newSecret();
  const end = new Date(nowMs + OVERLAP_MS).toISOString();
  const context = sealContext(endpointId);
  const expiring = former.map((secret) => ({ ...secret, expires_at: secret.expires_at ?? end }));
  const stillActive = activeSecrets(expiring, nowMs)
    .filter(({ sealed }) => canOpen(secretBox, { sealed, context }))
    .slice(0, MAX_FORMER_SECRETS);
  const created = new Date(nowMs).toISOString();
  const sealed = secretBox.seal(text, context);
  return { text, secrets: [{ sealed, created_at: created, expires_at: null }, ...stillActive] };
}

/** The active secrets in plain text, newest first. Throws if one cannot be decrypted. */
export function openSecrets(
  secretBox: Pick<SecretBox, "open">,
  endpointId: string,
  { secrets, nowMs }: { secrets: readonly SealedSecret[]; nowMs: number },
): string[] {
  return activeSecrets(secrets, nowMs).map((secret) => openSecret(secretBox, endpointId, secret));
}

/** Throws an error for the endpoint's owner if the secret cannot be decrypted. */
export function openSecret(
  secretBox: Pick<SecretBox, "open">,
  endpointId: string,
  { sealed }: SealedSecret,
): string {
  try {
    return secretBox.open(sealed, sealContext(endpointId));
  } catch {
    throw new Error(
      `The signing secret of ${toTypedId("whe", endpointId)} was encrypted with another WAYMARK_SECRET or is damaged. Rotate it.`,
    );
  }
}

/** The secrets that have not expired. */
export function activeSecrets(secrets: readonly SealedSecret[], nowMs: number): SealedSecret[] {
  return secrets.filter(({ expires_at: end }) => end === null || Date.parse(end) > nowMs);
}

export function sealHeaders(
  secretBox: SecretBox,
  endpointId: string,
  headers: Readonly<Record<string, string>>,
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return secretBox.seal(JSON.stringify(headers), sealContext(endpointId));
}

export function openHeaders(
  secretBox: Pick<SecretBox, "open">,
  endpointId: string,
  sealed: string | null | undefined,
): Record<string, string> {
  if (typeof sealed !== "string") return {};
  let text: string;
  try {
    text = secretBox.open(sealed, sealContext(endpointId));
  } catch {
    // A separate message, because rotating the secret does not repair headers.
    throw new Error(
      `The custom headers of ${toTypedId("whe", endpointId)} were encrypted with another WAYMARK_SECRET or are damaged. Set them again.`,
    );
  }
  return JSON.parse(text) as Record<string, string>;
}
