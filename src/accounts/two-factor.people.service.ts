/** The second factors that people have, for whoever has to know whether WAYMARK_SECRET opens them. */
import type { Queryable } from "../platform/database.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { raw } from "../platform/sql.ts";
import { SECRET_VERSION, signInSecret } from "./auth.secret.ts";

type Box = Pick<SecretBox, "keyFor">;

interface Row {
  email: string;
  secret: string;
}

const SECOND_FACTORS = `
  select email, secret from user_account join user_two_factor factor on factor.user_id = user_account.id
  where two_factor_enabled`;

/** The addresses, in order, of those whose second factor `box` does not open. */
export async function peopleLockedOut(on: Queryable, box: Box): Promise<string[]> {
  const rows = await on.query<Row>(raw(`${SECOND_FACTORS} order by email`));
  const opened = await openings(box, rows);
  return rows.filter((_row, at) => opened[at] === false).map(({ email }) => email);
}

/** Whether `box` opens the second factor that was set up last; null: nobody has one. */
export async function opensSecondFactor(on: Queryable, box: Box): Promise<boolean | null> {
  const rows = await on.query<Row>(raw(`${SECOND_FACTORS} order by factor.id desc limit 1`));
  const [isOpened] = await openings(box, rows);
  return isOpened ?? null;
}

async function openings(box: Box, rows: readonly Row[]): Promise<boolean[]> {
  if (rows.length === 0) return [];
  // Loaded only here: every command asks for the database's check, and hardly one comes to this.
  const { symmetricDecrypt } = await import("better-auth/crypto");
  const key = { keys: new Map([[SECRET_VERSION, signInSecret(box)]]), currentVersion: SECRET_VERSION };
  const opened = await Promise.allSettled(rows.map(({ secret }) => symmetricDecrypt({ key, data: secret })));
  return opened.map(({ status }) => status === "fulfilled");
}
