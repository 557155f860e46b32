/** WAYMARK_SECRET as better-auth's secret. It signs cookies, and encrypts TOTP secrets and recovery codes. */
import type { Reader } from "../../core/postgres/database.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import { UserTwoFactor } from "../credential.entity.ts";

/** Each purpose gets a different key from WAYMARK_SECRET. */
const KEY_PURPOSE = "waymark sign-in s1";

/** The library stores this number in each ciphertext. */
export const SECRET_VERSION = 1;

export function deriveAuthSecret(secretBox: Pick<SecretBox, "keyFor">): string {
  return secretBox.keyFor(KEY_PURPOSE).toString("base64url");
}

/** Returns the sorted e-mail addresses of users whose TOTP secret `secretBox` can't decrypt. */
export async function usersWithUnreadableSecret(
  on: Reader,
  secretBox: Pick<SecretBox, "keyFor">,
): Promise<string[]> {
  // Imported lazily: every CLI command imports this module, and few need the library.
  const { symmetricDecrypt } = await import("better-auth/crypto");
  const keys = new Map([[SECRET_VERSION, deriveAuthSecret(secretBox)]]);
  const key = { keys, currentVersion: SECRET_VERSION };
  const inUse = { user: { twoFactorEnabled: true } };
  const factors = await on.em().find(UserTwoFactor, inUse, { populate: ["user"] });
  const decryptions = await Promise.allSettled(
    factors.map(({ secret }) => symmetricDecrypt({ key, data: secret })),
  );
  const unreadable = factors.filter((_factor, index) => decryptions[index]?.status === "rejected");
  return unreadable.map(({ user }) => user.email).toSorted();
}
