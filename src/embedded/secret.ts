/** WAYMARK_SECRET, or the one that is kept in the data folder where PostgreSQL is, too. */
import type { Config } from "../config/config.ts";
import { StartupError } from "../platform/errors.ts";
import { createSecretBox, parseSecret, type SecretBox } from "../platform/secret-box.ts";
import { prepareDataFolder, readOrCreateSecret } from "./data-folder.ts";

/**
 * What seals and opens the secrets in this configuration's database. Throws a StartupError where DATABASE_URL is set and
 * WAYMARK_SECRET is not: a secret that was made up here would be unreadable to the next machine on that database.
 */
export async function openSecretBox({ secret, database, dataDir }: Config): Promise<SecretBox> {
  if (secret === null && database.url !== null) {
    throw new StartupError(
      "WAYMARK_SECRET is not set. With DATABASE_URL it is needed: it encrypts the secrets of webhook endpoints.",
      "Make one, keep it, and give it to every process on this database: WAYMARK_SECRET=$(openssl rand -base64 32)",
    );
  }
  if (secret === null) await prepareDataFolder(dataDir);
  const bytes = parseSecret(secret ?? (await readOrCreateSecret(dataDir)));
  if (bytes) return createSecretBox(bytes);
  throw new StartupError("WAYMARK_SECRET is no 32 bytes.", "Make one with: openssl rand -base64 32");
}
