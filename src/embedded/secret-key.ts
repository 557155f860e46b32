/** WAYMARK_SECRET, or the one that is kept in the data folder where PostgreSQL is, too. */
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { StartupError } from "../platform/errors.ts";
import { createSecretBox, parseSecret, type SecretBox } from "../platform/secret-box.ts";
import { prepareDataFolder, readIfPresent, readOrCreateSecret } from "./data-folder.ts";

/**
 * Throws a StartupError where DATABASE_URL is set and WAYMARK_SECRET is not: a secret that was made up here would be
 * unreadable to the next machine on that database.
 */
export function requireSecret({ secret, database }: Config): void {
  if (secret !== null || database.url === null) return;
  throw new StartupError(
    "WAYMARK_SECRET is not set. With DATABASE_URL it is needed: it encrypts the secrets of webhook endpoints.",
    "Make one, keep it, and give it to every process on this database: WAYMARK_SECRET=$(openssl rand -base64 32)",
  );
}

/**
 * Opens WAYMARK_SECRET, or the file `secret` of the data folder. The file is created when it is missing and `isInUse` says
 * that the database holds nothing sealed yet; otherwise a StartupError says that it is missing.
 */
export async function openSecretBox(config: Config, isInUse: () => Promise<boolean>): Promise<SecretBox> {
  requireSecret(config);
  const bytes = parseSecret(config.secret ?? (await readFolderSecret(config.dataDir, isInUse)));
  if (bytes) return createSecretBox(bytes);
  throw new StartupError("WAYMARK_SECRET is no 32 bytes.", "Make one with: openssl rand -base64 32");
}

async function readFolderSecret(dataDir: string, isInUse: () => Promise<boolean>): Promise<string> {
  await prepareDataFolder(dataDir);
  const path = join(dataDir, "secret");
  if ((await readIfPresent(path)) === null && (await isInUse())) {
    throw new StartupError(
      `The file ${path} is missing. The secrets in this database were sealed with its content, and no new file was created.`,
      "Restore the file from a backup of the data folder, or set WAYMARK_SECRET to its content. If it is lost for good: " +
        "npx waymark accept-secret, which creates a new one (docs/backup.md).",
    );
  }
  return await readOrCreateSecret(dataDir);
}
