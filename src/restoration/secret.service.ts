/** Whether WAYMARK_SECRET is the one that this database's secrets are sealed with: asked at the start, not by each delivery. */
import { randomBytes } from "node:crypto";
import { NO_ORIGIN, record } from "../accounts/audit.service.ts";
import { opensSecondFactor, peopleLockedOut } from "../accounts/two-factor.people.service.ts";
import { newestSealedBody } from "../mail/sealed.service.ts";
import type { Database, Queryable } from "../platform/database.ts";
import { StartupError } from "../platform/errors.ts";
import { systemActor } from "../platform/principal.ts";
import { createSecretBox, opens, type Sealed, type SecretBox } from "../platform/secret-box.ts";
import { raw, sql } from "../platform/sql.ts";
import { keepPlace, lastPlaceOf, placeOf } from "./database-place.ts";
import { newestSealed, unreadableEndpoints } from "../webhooks/sealed.service.ts";

const CONTEXT = "database_mark";
const KNOWN = "waymark";

/**
 * Throws a StartupError where the secrets in this database were sealed with another WAYMARK_SECRET. The database has been
 * admitted.
 */
export async function admitSecret(on: Queryable, box: SecretBox): Promise<void> {
  const kept = await keptCheck(on);
  const isRight = kept ? opens(box, kept) : await opensNewest(on, box);
  if (!isRight) throw wrongSecret();
  if (kept) return;
  await on.query(
    sql`update database_mark set secret_check = ${box.seal(KNOWN, CONTEXT)} where secret_check is null`,
  );
  // Of two processes that come first with different secrets, one is wrong.
  const check = await keptCheck(on);
  if (check && !opens(box, check)) throw wrongSecret();
}

/** True if the database holds data encrypted with a WAYMARK_SECRET. */
export async function holdsSealed(on: Queryable): Promise<boolean> {
  // A key that nothing was sealed with opens nothing: true only where there is nothing to open.
  return (await keptCheck(on)) !== null || !(await opensNewest(on, createSecretBox(randomBytes(32))));
}

/** A database that was in use before there was a check is asked for something that it has sealed itself. */
async function opensNewest(on: Queryable, box: SecretBox): Promise<boolean> {
  const sealed = (await newestSealed(on)) ?? (await newestSealedBody(on));
  return sealed ? opens(box, sealed) : ((await opensSecondFactor(on, box)) ?? true);
}

async function keptCheck(on: Queryable): Promise<Sealed | null> {
  const [mark] = await on.query<{ secret_check: string | null }>(
    raw("select secret_check from database_mark"),
  );
  const sealed = mark?.secret_check ?? null;
  return sealed === null ? null : { sealed, context: CONTEXT };
}

/** What a lost WAYMARK_SECRET has taken along. */
export interface LostSecrets {
  /** Typed ids: nothing is sent to these endpoints until their secret is rotated. */
  readonly endpoints: string[];
  /** Typed ids: nothing is sent to these endpoints until their custom headers are set again. */
  readonly headers: string[];
  /** E-mail addresses: these people cannot sign in until their second factor is reset. */
  readonly people: string[];
}

/**
 * Goes on with the present WAYMARK_SECRET, whatever the one before was. What that sealed stays as it is, for the case that it
 * is found again.
 */
export function acceptSecret(database: Database, box: SecretBox): Promise<LostSecrets> {
  return database.transaction(async (tx) => {
    const { secrets: endpoints, headers } = await unreadableEndpoints(tx, box);
    const people = await peopleLockedOut(tx, box);
    if (!(await lastPlaceOf(tx))) await keepPlace(tx, await placeOf(tx));
    await tx.query(sql`update database_mark set secret_check = ${box.seal(KNOWN, CONTEXT)}`);
    await record(tx, {
      actor: systemActor,
      ...NO_ORIGIN,
      action: "secret.accepted",
      organizationId: null,
      details: { endpoints: endpoints.length, headers: headers.length, people: people.length },
    });
    return { endpoints, headers, people };
  });
}

function wrongSecret(): StartupError {
  return new StartupError(
    "WAYMARK_SECRET is not the one that the secrets in this database were sealed with.",
    "Set the one that belongs to this database; with the embedded PostgreSQL it lies in the file `secret` of the data " +
      "folder. Where it is lost for good: npx waymark accept-secret (docs/backup.md).",
  );
}
