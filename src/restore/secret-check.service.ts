/** Whether WAYMARK_SECRET is the one that this database's secrets are sealed with: asked at the start, not by each delivery. */
import { randomBytes } from "node:crypto";
import { NO_SOURCE, recordAuditEvent } from "../audit/api.ts";
import { canDecryptLatestSecret, usersWithUnreadableSecret } from "../accounts/api.ts";
import { latestSealedBody } from "../mail/api.ts";
import type { Database, Queryable } from "../platform/postgres/database.ts";
import { StartupError } from "../platform/errors.ts";
import { systemActor } from "../platform/principal.ts";
import { createSecretBox, canOpen, type SealedValue, type SecretBox } from "../platform/secret-box.ts";
import { raw, sql } from "../platform/postgres/sql.ts";
import { saveIdentity, storedIdentity, readIdentity } from "./database-identity.ts";
import { latestSealedSecret, unreadableEndpoints } from "../webhooks/api.ts";

const SEAL_CONTEXT = "database_identity";
const KNOWN_PLAINTEXT = "waymark";

/**
 * Throws a StartupError where the secrets in this database were sealed with another WAYMARK_SECRET. The database has been
 * admitted.
 */
export async function checkSecret(on: Queryable, secretBox: SecretBox): Promise<void> {
  const stored = await storedCheck(on);
  const isRight = stored ? canOpen(secretBox, stored) : await canOpenLatest(on, secretBox);
  if (!isRight) throw wrongSecretError();
  if (stored) return;
  await on.query(
    sql`update database_identity set secret_check = ${secretBox.seal(KNOWN_PLAINTEXT, SEAL_CONTEXT)} where secret_check is null`,
  );
  // Of two processes that come first with different secrets, one is wrong.
  const check = await storedCheck(on);
  if (check && !canOpen(secretBox, check)) throw wrongSecretError();
}

/** True if the database holds data encrypted with a WAYMARK_SECRET. */
export async function hasSealedData(on: Queryable): Promise<boolean> {
  // A key that nothing was sealed with opens nothing: true only where there is nothing to open.
  return (await storedCheck(on)) !== null || !(await canOpenLatest(on, createSecretBox(randomBytes(32))));
}

/** A database that was in use before there was a check is asked for something that it has sealed itself. */
async function canOpenLatest(on: Queryable, secretBox: SecretBox): Promise<boolean> {
  const sealed = (await latestSealedSecret(on)) ?? (await latestSealedBody(on));
  return sealed ? canOpen(secretBox, sealed) : ((await canDecryptLatestSecret(on, secretBox)) ?? true);
}

async function storedCheck(on: Queryable): Promise<SealedValue | null> {
  const [mark] = await on.query<{ secret_check: string | null }>(
    raw("select secret_check from database_identity"),
  );
  const sealed = mark?.secret_check ?? null;
  return sealed === null ? null : { sealed, context: SEAL_CONTEXT };
}

/** What a lost WAYMARK_SECRET has taken along. */
export interface UnreadableSecrets {
  /** Typed ids: nothing is sent to these endpoints until their secret is rotated. */
  readonly endpoints: string[];
  /** Typed ids: nothing is sent to these endpoints until their custom headers are set again. */
  readonly headers: string[];
  /** E-mail addresses: these people cannot sign in until their second factor is reset. */
  readonly userEmails: string[];
}

/**
 * Goes on with the present WAYMARK_SECRET, whatever the one before was. What that sealed stays as it is, for the case that it
 * is found again.
 */
export function acceptSecret(database: Database, secretBox: SecretBox): Promise<UnreadableSecrets> {
  return database.transaction(async (tx) => {
    const { secrets: endpoints, headers } = await unreadableEndpoints(tx, secretBox);
    const userEmails = await usersWithUnreadableSecret(tx, secretBox);
    if (!(await storedIdentity(tx))) await saveIdentity(tx, await readIdentity(tx));
    await tx.query(
      sql`update database_identity set secret_check = ${secretBox.seal(KNOWN_PLAINTEXT, SEAL_CONTEXT)}`,
    );
    await recordAuditEvent(tx, {
      actor: systemActor,
      ...NO_SOURCE,
      action: "secret.accepted",
      organizationId: null,
      details: { endpoints: endpoints.length, headers: headers.length, userEmails: userEmails.length },
    });
    return { endpoints, headers, userEmails: userEmails };
  });
}

function wrongSecretError(): StartupError {
  return new StartupError(
    "WAYMARK_SECRET is not the one that the secrets in this database were sealed with.",
    "Set the one that belongs to this database; with the embedded PostgreSQL it lies in the file `secret` of the data " +
      "folder. Where it is lost for good: npx waymark accept-secret (docs/backup.md).",
  );
}
