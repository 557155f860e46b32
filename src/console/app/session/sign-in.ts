/** Signs in, or confirms the identity of the user who is signed in. */
import { api } from "../api/client.ts";

export type CodeKind = "totp" | "recovery_code";

/** Returns true if a code of two-factor authentication must follow. */
export async function signIn(credentials: { email: string; password: string }): Promise<boolean> {
  const answer = await api.anonymous.post<{ twoFactorRedirect?: boolean }>("auth/sign-in/email", credentials);
  return answer.twoFactorRedirect === true;
}

export async function sendCode(code: string, kind: CodeKind): Promise<void> {
  const path = kind === "totp" ? "verify-totp" : "verify-backup-code";
  // Spaces between the digits, as some apps show them.
  await api.anonymous.post(`auth/two-factor/${path}`, { code: code.replaceAll(/\s/g, "") });
}
