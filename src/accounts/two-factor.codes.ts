/** Checks the codes of two-factor authentication: TOTP codes and recovery codes, each accepted once. */
import type { AppError } from "../platform/errors.ts";
import { callAuth, wrongCode, type Called } from "./auth.call.ts";
import type { Auth } from "./auth.ts";
import type { Throttle, Try } from "./throttle.ts";
import type { RecoveryCodeKeeper } from "./two-factor.recovery-codes.ts";
import type { SecondFactorSecrets } from "./two-factor.secrets.ts";

export const codeKinds = ["totp", "recovery_code"] as const;
export type CodeKind = (typeof codeKinds)[number];

export interface CodeCheck {
  /** Null: the pending sign-in is unknown or over, which better-auth rejects. */
  readonly userId: string | null;
  readonly code: string;
  readonly kind: CodeKind;
  /** With the cookie of the session or of the pending sign-in. */
  readonly headers: Headers;
  /** Thrown for a code that is wrong or was used; a 401 by default. */
  readonly refusal?: () => AppError;
}

/** The token is set where the code completed a sign-in. */
interface Checked {
  token?: string | undefined;
  user: { id: string };
}

export interface CodeParts {
  auth: Auth;
  throttle: Throttle;
  secondFactors: SecondFactorSecrets;
  recoveryCodes: Pick<RecoveryCodeKeeper, "asKept">;
}

export async function checkCode(parts: CodeParts, check: CodeCheck): Promise<Called<Checked>> {
  const { auth, recoveryCodes } = parts;
  const { userId, code, kind, headers, refusal = wrongCode } = check;
  const asked = { headers, returnHeaders: true } as const;
  const call = async (): Promise<{ headers: Headers; response: Checked }> => {
    if (kind === "totp") return await auth.api.verifyTOTP({ ...asked, body: { code } });
    const kept = userId === null ? code : await recoveryCodes.asKept(userId, code);
    return await auth.api.verifyBackupCode({ ...asked, body: { code: kept } });
  };
  const checked = (): Promise<Called<Checked>> =>
    parts.secondFactors.checking(userId, () =>
      callAuth(call, { INVALID_CODE: refusal, INVALID_BACKUP_CODE: refusal }),
    );
  return kind === "totp" && userId !== null
    ? await acceptOnce(parts.throttle, check, checked)
    : await checked();
}

/**
 * A used TOTP code is rejected before better-auth sees it (RFC 6238, section 5.2): better-auth would end the pending
 * sign-in, and the user could not enter the next code.
 */
async function acceptOnce<T>(
  throttle: Throttle,
  { userId, code, refusal = wrongCode }: CodeCheck,
  check: () => Promise<T>,
): Promise<T> {
  const once: Try = ["code-once", `${userId} ${code}`];
  if (!(await throttle.allows(once))) throw refusal();
  try {
    return await check();
  } catch (error) {
    await throttle.giveBack(once);
    throw error;
  }
}
