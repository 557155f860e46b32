/** Checks at the start that WAYMARK_SECRET is the one that the database's secrets are encrypted with. */
import { randomBytes } from "node:crypto";
import { NO_SOURCE, recordAuditEvent } from "../audit/api.ts";
import { usersWithUnreadableSecret } from "../accounts/api.ts";
import { latestSealedBody } from "../mail/api.ts";
import type { Database, Reader } from "../core/postgres/database.ts";
import { StartupError } from "../core/errors.ts";
import { systemActor } from "../core/principal.ts";
import { createSecretBox, canOpen, type SealedValue, type SecretBox } from "../core/secret-box.ts";
import {
  readIdentity,
  saveIdentity,
  saveSecretCheck,
  storedIdentity,
  storedSecretCheck,
} from "./database-identity.sql.ts";
import { latestSealedSecret, unreadableEndpoints } from "../webhooks/api.ts";

const SEAL_CONTEXT = "database_identity";
const KNOWN_PLAINTEXT = "waymark";

/**
 * Throws StartupError if the secrets in this database are encrypted with another WAYMARK_SECRET. Stores a check value if
 * there is none. Requires that the database identity has been checked.
 */
export async function checkSecret(on: Reader, secretBox: SecretBox): Promise<void> {
  const stored = await storedCheck(on);
  const isRight = stored ? canOpen(secretBox, stored) : await canOpenLatest(on, secretBox);
  if (!isRight) throw wrongSecretError();
  if (stored) return;
  await saveSecretCheck(on, secretBox.seal(KNOWN_PLAINTEXT, SEAL_CONTEXT), { replace: false });
  // Check again: another process may have stored its check first, with a different secret.
  const check = await storedCheck(on);
  if (check && !canOpen(secretBox, check)) throw wrongSecretError();
}

/** True if the database holds data encrypted with a WAYMARK_SECRET. */
export async function hasSealedData(on: Reader): Promise<boolean> {
  // A random key can decrypt nothing, so canOpenLatest returns true only if there is nothing to decrypt.
  return (await storedCheck(on)) !== null || !(await canOpenLatest(on, createSecretBox(randomBytes(32))));
}

/** For a database without a stored check: true if the newest encrypted value can be decrypted, or there is none. */
async function canOpenLatest(on: Reader, secretBox: SecretBox): Promise<boolean> {
  const sealed = (await latestSealedSecret(on)) ?? (await latestSealedBody(on));
  return sealed ? canOpen(secretBox, sealed) : (await usersWithUnreadableSecret(on, secretBox)).length === 0;
}

async function storedCheck(on: Reader): Promise<SealedValue | null> {
  const sealed = await storedSecretCheck(on);
  return sealed === null ? null : { sealed, context: SEAL_CONTEXT };
}

/** Data that can no longer be decrypted after WAYMARK_SECRET was lost. */
export interface UnreadableSecrets {
  /** Typed IDs of endpoints that receive nothing until their secret is rotated. */
  readonly endpoints: string[];
  /** Typed IDs of endpoints that receive nothing until their custom headers are set again. */
  readonly headers: string[];
  /** E-mail addresses of users who cannot sign in until their two-factor authentication is reset. */
  readonly userEmails: string[];
}

/**
 * Accepts the current WAYMARK_SECRET and returns the data that it cannot decrypt. That data stays stored, in case the
 * previous secret is found again.
 */
export function acceptSecret(database: Database, secretBox: SecretBox): Promise<UnreadableSecrets> {
  return database.transaction(async (tx) => {
    const { secrets: endpoints, headers } = await unreadableEndpoints(tx, secretBox);
    const userEmails = await usersWithUnreadableSecret(tx, secretBox);
    if (!(await storedIdentity(tx))) await saveIdentity(tx, await readIdentity(tx));
    await saveSecretCheck(tx, secretBox.seal(KNOWN_PLAINTEXT, SEAL_CONTEXT), { replace: true });
    await recordAuditEvent(tx, {
      actor: systemActor,
      ...NO_SOURCE,
      action: "secret.accepted",
      organizationId: null,
      details: { endpoints: endpoints.length, headers: headers.length, userEmails: userEmails.length },
    });
    return { endpoints, headers, userEmails };
  });
}

function wrongSecretError(): StartupError {
  return new StartupError(
    "WAYMARK_SECRET is not the one that the secrets in this database are encrypted with.",
    "Set the secret of this database; with the embedded PostgreSQL it is in the file `secret` of the data " +
      "folder. If it is lost for good: waymark accept-secret (docs/operate/backup.md).",
  );
}
