/** Checks whether WAYMARK_SECRET can decrypt users' TOTP secrets. */
import type { Queryable } from "../../core/postgres/database.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import { raw } from "../../core/postgres/sql.ts";
import { deriveAuthSecret, secretKey } from "../auth/secret.ts";

interface SecretRow {
  email: string;
  secret: string;
}

/** Returns the sorted e-mail addresses of users whose TOTP secret `secretBox` can't decrypt. */
export async function usersWithUnreadableSecret(
  on: Queryable,
  secretBox: Pick<SecretBox, "keyFor">,
): Promise<string[]> {
  const rows = await on.query<SecretRow>(
    raw(`
    select email, secret from user_account join user_two_factor factor on factor.user_id = user_account.id
    where two_factor_enabled order by email`),
  );
  const isDecrypted = await tryDecrypt(deriveAuthSecret(secretBox), ...rows.map(({ secret }) => secret));
  return rows.filter((_row, index) => isDecrypted[index] === false).map(({ email }) => email);
}

/** Returns for each text whether `authSecret` decrypts it. */
export async function tryDecrypt(authSecret: string, ...texts: readonly string[]): Promise<boolean[]> {
  if (texts.length === 0) return [];
  // Imported lazily: every CLI command imports this module, and few need the library.
  const { symmetricDecrypt } = await import("better-auth/crypto");
  const key = secretKey(authSecret);
  const decryptions = await Promise.allSettled(texts.map((data) => symmetricDecrypt({ key, data })));
  return decryptions.map(({ status }) => status === "fulfilled");
}
