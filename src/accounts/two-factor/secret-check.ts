/** The second factors that people have, for whoever has to know whether WAYMARK_SECRET opens them. */
import type { Queryable } from "../../platform/postgres/database.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { raw } from "../../platform/postgres/sql.ts";
import { SECRET_VERSION, deriveAuthSecret } from "../auth/secret.ts";

type KeyDerivation = Pick<SecretBox, "keyFor">;

interface SecretRow {
  email: string;
  secret: string;
}

const TWO_FACTOR_SECRETS_SQL = `
  select email, secret from user_account join user_two_factor factor on factor.user_id = user_account.id
  where two_factor_enabled`;

/** The addresses, in order, of those whose second factor `box` does not open. */
export async function usersWithUnreadableSecret(on: Queryable, secretBox: KeyDerivation): Promise<string[]> {
  const rows = await on.query<SecretRow>(raw(`${TWO_FACTOR_SECRETS_SQL} order by email`));
  const isDecrypted = await tryDecryptAll(secretBox, rows);
  return rows.filter((_row, index) => isDecrypted[index] === false).map(({ email }) => email);
}

/** Whether `box` opens the second factor that was set up last; null: nobody has one. */
export async function canDecryptLatestSecret(
  on: Queryable,
  secretBox: KeyDerivation,
): Promise<boolean | null> {
  const rows = await on.query<SecretRow>(raw(`${TWO_FACTOR_SECRETS_SQL} order by factor.id desc limit 1`));
  const [isDecrypted] = await tryDecryptAll(secretBox, rows);
  return isDecrypted ?? null;
}

async function tryDecryptAll(secretBox: KeyDerivation, rows: readonly SecretRow[]): Promise<boolean[]> {
  if (rows.length === 0) return [];
  // Loaded only here: every command asks for the database's check, and hardly one comes to this.
  const { symmetricDecrypt } = await import("better-auth/crypto");
  const key = {
    keys: new Map([[SECRET_VERSION, deriveAuthSecret(secretBox)]]),
    currentVersion: SECRET_VERSION,
  };
  const opened = await Promise.allSettled(rows.map(({ secret }) => symmetricDecrypt({ key, data: secret })));
  return opened.map(({ status }) => status === "fulfilled");
}
