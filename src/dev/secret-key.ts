/** Reads WAYMARK_SECRET, or the file `secret` in the data folder if the embedded PostgreSQL is used. */
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { StartupError } from "../core/errors.ts";
import { createSecretBox, parseSecret, type SecretBox } from "../core/secret-box.ts";
import { prepareDataFolder, readIfPresent, readOrCreateKey } from "./data-folder.ts";

/**
 * Throws StartupError if DATABASE_URL is set without WAYMARK_SECRET: other machines on that database could not decrypt
 * what a locally generated secret encrypts.
 */
export function requireSecret({ secret, database }: Config): void {
  if (secret !== null || database.url === null) return;
  throw new StartupError(
    "WAYMARK_SECRET is not set. DATABASE_URL requires it, to encrypt the secrets of webhook endpoints.",
    "Generate one, store it, and set it for every process on this database: WAYMARK_SECRET=$(openssl rand -base64 32)",
  );
}

/**
 * Opens the secret box with WAYMARK_SECRET or the file `secret`. Creates a missing file, unless `isInUse` returns true,
 * because the database contains encrypted data. Throws StartupError.
 */
export async function openSecretBox(config: Config, isInUse: () => Promise<boolean>): Promise<SecretBox> {
  requireSecret(config);
  const bytes = parseSecret(config.secret ?? (await readFolderSecret(config.dataDir, isInUse)));
  if (bytes) return createSecretBox(bytes);
  throw new StartupError(
    "WAYMARK_SECRET is not 32 bytes long.",
    "Generate one with: openssl rand -base64 32",
  );
}

async function readFolderSecret(dataDir: string, isInUse: () => Promise<boolean>): Promise<string> {
  await prepareDataFolder(dataDir);
  const path = join(dataDir, "secret");
  if ((await readIfPresent(path)) === null && (await isInUse())) {
    throw new StartupError(
      `The file ${path} is missing. The database contains data encrypted with it, so no new file was created.`,
      "Restore the file from a backup of the data folder, or set WAYMARK_SECRET to its content. If it is lost for good: " +
        "npx waymark accept-secret, which creates a new one (docs/operate/backup.md).",
    );
  }
  return await readOrCreateKey(path);
}
