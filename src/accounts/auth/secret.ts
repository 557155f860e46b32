/** Derives better-auth's secret from WAYMARK_SECRET. It signs cookies, and encrypts TOTP secrets and recovery codes. */
import type { SecretBox } from "../../core/secret-box.ts";

/** Each purpose gets a different key from WAYMARK_SECRET. */
const KEY_PURPOSE = "waymark sign-in s1";

/** The library stores this number in each ciphertext. */
export const SECRET_VERSION = 1;

export function deriveAuthSecret(secretBox: Pick<SecretBox, "keyFor">): string {
  return secretBox.keyFor(KEY_PURPOSE).toString("base64url");
}

/** Returns the key of the library's encryption. */
export function secretKey(authSecret: string) {
  return { keys: new Map([[SECRET_VERSION, authSecret]]), currentVersion: SECRET_VERSION };
}
