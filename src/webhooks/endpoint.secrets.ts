/** What of an endpoint is sealed: its signing secrets, and the headers that its owner adds. */
import type { SecretBox } from "../platform/secret-box.ts";
import type { SealedSecret } from "./endpoint.entity.ts";
import { newSecret } from "./signature.ts";

/** What the secrets of an endpoint are sealed for. */
export const sealedFor = (endpointId: string): string => `webhook_endpoint:${endpointId}`;

/** How long a former secret signs beside its successor, and how many may. */
const FORMER_MS = 24 * 3_600_000;
const MAX_FORMER = 2;

export interface NewSecret {
  /** The secret itself, for its owner. */
  text: string;
  /** For the row: this one first, then those that still sign. */
  secrets: SealedSecret[];
}

/** A new secret for the endpoint, in front of the ones that it has and that `box` opens: no other can sign. */
export function addSecret(
  box: SecretBox,
  endpointId: string,
  { former, nowMs }: { former: readonly SealedSecret[]; nowMs: number },
): NewSecret {
  const text = newSecret();
  const end = new Date(nowMs + FORMER_MS).toISOString();
  const signing = former
    .map((secret) => ({ ...secret, expires_at: secret.expires_at ?? end }))
    .filter((secret) => Date.parse(secret.expires_at) > nowMs && opens(box, endpointId, secret.sealed))
    .slice(0, MAX_FORMER);
  const created = new Date(nowMs).toISOString();
  const sealed = box.seal(text, sealedFor(endpointId));
  return { text, secrets: [{ sealed, created_at: created, expires_at: null }, ...signing] };
}

/** The secrets that sign now, the newest first. */
export function openSecrets(
  box: Pick<SecretBox, "open">,
  endpointId: string,
  { secrets, nowMs }: { secrets: readonly SealedSecret[]; nowMs: number },
): string[] {
  return stillSigning(secrets, nowMs).map(({ sealed }) => box.open(sealed, sealedFor(endpointId)));
}

/** Those that have not expired. */
export function stillSigning(secrets: readonly SealedSecret[], nowMs: number): SealedSecret[] {
  return secrets.filter(({ expires_at: end }) => end === null || Date.parse(end) > nowMs);
}

/** Whether `box` opens what was sealed for the endpoint. */
export function opens(box: Pick<SecretBox, "open">, endpointId: string, sealed: string): boolean {
  try {
    box.open(sealed, sealedFor(endpointId));
    return true;
  } catch {
    return false;
  }
}

export function sealHeaders(
  box: SecretBox,
  endpointId: string,
  headers: Readonly<Record<string, string>>,
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return box.seal(JSON.stringify(headers), sealedFor(endpointId));
}

export function openHeaders(
  box: Pick<SecretBox, "open">,
  endpointId: string,
  sealed: string | null,
): Record<string, string> {
  if (sealed === null) return {};
  // A secret is mended by its rotation, and these are not: so it is said which of the two it is.
  if (!opens(box, endpointId, sealed)) throw unreadableHeaders(endpointId);
  return JSON.parse(box.open(sealed, sealedFor(endpointId))) as Record<string, string>;
}

function unreadableHeaders(endpointId: string): Error {
  return new Error(
    `The custom headers of ${sealedFor(endpointId)} were sealed with another WAYMARK_SECRET, or are damaged: set them again`,
  );
}
