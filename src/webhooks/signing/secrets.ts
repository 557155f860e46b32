/** What of an endpoint is sealed: its signing secrets, and the headers that its owner adds. */
import { canOpen, type SecretBox } from "../../platform/secret-box.ts";
import type { SealedSecret } from "../endpoints/entity.ts";
import { newSecret } from "./signature.ts";

/** What the secrets of an endpoint are sealed for. */
export const sealContext = (endpointId: string): string => `webhook_endpoint:${endpointId}`;

/** How long a former secret signs beside its successor, and how many may. */
const OVERLAP_MS = 24 * 3_600_000;
const MAX_FORMER_SECRETS = 2;

export interface NewSecret {
  /** The secret itself, for its owner. */
  text: string;
  /** For the row: this one first, then those that still sign. */
  secrets: SealedSecret[];
}

/** A new secret for the endpoint, in front of the ones that it has and that `box` opens: no other can sign. */
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

/** The secrets that sign now, the newest first. */
export function openSecrets(
  secretBox: Pick<SecretBox, "open">,
  endpointId: string,
  { secrets, nowMs }: { secrets: readonly SealedSecret[]; nowMs: number },
): string[] {
  return activeSecrets(secrets, nowMs).map(({ sealed }) => secretBox.open(sealed, sealContext(endpointId)));
}

/** Those that have not expired. */
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
  sealed: string | null,
): Record<string, string> {
  if (sealed === null) return {};
  return JSON.parse(decryptHeaders(secretBox, endpointId, sealed)) as Record<string, string>;
}

function decryptHeaders(secretBox: Pick<SecretBox, "open">, endpointId: string, sealed: string): string {
  try {
    return secretBox.open(sealed, sealContext(endpointId));
  } catch {
    // A secret is mended by its rotation, and these are not: so it is said which of the two it is.
    throw unreadableHeaders(endpointId);
  }
}

function unreadableHeaders(endpointId: string): Error {
  return new Error(
    `The custom headers of ${sealContext(endpointId)} were sealed with another WAYMARK_SECRET, or are damaged: set them again`,
  );
}
