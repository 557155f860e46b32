/** The secret that the library is given: it signs cookies, and encrypts what is kept of second factors. */
import type { SecretBox } from "../../platform/secret-box.ts";

/** What it is for: WAYMARK_SECRET makes other keys for other uses. */
const KEY_PURPOSE = "waymark sign-in s1";

/** What is encrypted with it names this number, as the library has it. */
export const SECRET_VERSION = 1;

export function deriveAuthSecret(secretBox: Pick<SecretBox, "keyFor">): string {
  return secretBox.keyFor(KEY_PURPOSE).toString("base64url");
}
