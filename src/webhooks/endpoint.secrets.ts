/** What of an endpoint is sealed: its signing secrets, and the headers that its owner adds. */
import { opens, type SecretBox } from "../platform/secret-box.ts";
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
  const context = sealedFor(endpointId);
  const ending = former.map((secret) => ({ ...secret, expires_at: secret.expires_at ?? end }));
  const signing = stillSigning(ending, nowMs)
    .filter(({ sealed }) => opens(box, { sealed, context }))
    .slice(0, MAX_FORMER);
  const created = new Date(nowMs).toISOString();
  const sealed = box.seal(text, context);
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
  return JSON.parse(openedHeaders(box, endpointId, sealed)) as Record<string, string>;
}

function openedHeaders(box: Pick<SecretBox, "open">, endpointId: string, sealed: string): string {
  try {
    return box.open(sealed, sealedFor(endpointId));
  } catch {
    // A secret is mended by its rotation, and these are not: so it is said which of the two it is.
    throw unreadableHeaders(endpointId);
  }
}

function unreadableHeaders(endpointId: string): Error {
  return new Error(
    `The custom headers of ${sealedFor(endpointId)} were sealed with another WAYMARK_SECRET, or are damaged: set them again`,
  );
}
