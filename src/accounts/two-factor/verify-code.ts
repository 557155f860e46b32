/** Checks the codes of two-factor authentication: TOTP codes and recovery codes, each accepted once. */
import type { AppError } from "../../core/errors.ts";
import { callBetterAuth, wrongCodeError, type AuthResult } from "../auth/better-auth.client.ts";
import type { Throttle, ThrottleAttempt } from "../auth/throttle.ts";
import type { AccountContext } from "../context.ts";
import { toStoredRecoveryCode } from "./recovery-codes.ts";

export const twoFactorCodeKinds = ["totp", "recovery_code"] as const;
export type TwoFactorCodeKind = (typeof twoFactorCodeKinds)[number];

export interface TwoFactorCodeCheck {
  /** Null: the pending sign-in is unknown or over, which better-auth rejects. */
  readonly userId: string | null;
  readonly code: string;
  readonly kind: TwoFactorCodeKind;
  /** With the cookie of the session or of the pending sign-in. */
  readonly headers: Headers;
  /** Thrown for a code that is wrong or was used; a 401 by default. */
  readonly refusal?: () => AppError;
}

/** The token is set where the code completed a sign-in. */
interface VerifiedCode {
  token?: string | undefined;
  user: { id: string };
}

export async function verifyTwoFactorCode(
  context: AccountContext,
  check: TwoFactorCodeCheck,
): Promise<AuthResult<VerifiedCode>> {
  const { auth, twoFactorDiagnostics } = context;
  const { userId, code, kind, headers, refusal = wrongCodeError } = check;
  const requestOptions = { headers, returnHeaders: true } as const;
  const call = async (): Promise<{ headers: Headers; response: VerifiedCode }> => {
    if (kind === "totp") return await auth.api.verifyTOTP({ ...requestOptions, body: { code } });
    const storedCode = userId === null ? code : await toStoredRecoveryCode(context, userId, code);
    return await auth.api.verifyBackupCode({ ...requestOptions, body: { code: storedCode } });
  };
  const verify = (): Promise<AuthResult<VerifiedCode>> =>
    twoFactorDiagnostics.explainFailure(userId, () =>
      callBetterAuth(call, { INVALID_CODE: refusal, INVALID_BACKUP_CODE: refusal }),
    );
  return kind === "totp" && userId !== null
    ? await rejectReplay(context.throttle, check, verify)
    : await verify();
}

/**
 * A used TOTP code is rejected before better-auth sees it (RFC 6238, section 5.2): better-auth would end the pending
 * sign-in, and the user could not enter the next code.
 */
async function rejectReplay<T>(
  throttle: Throttle,
  { userId, code, refusal = wrongCodeError }: TwoFactorCodeCheck,
  check: () => Promise<T>,
): Promise<T> {
  const replayAttempt: ThrottleAttempt = ["totp-replay", `${userId} ${code}`];
  if (!(await throttle.tryTake(replayAttempt))) throw refusal();
  try {
    return await check();
  } catch (error) {
    await throttle.refund(replayAttempt);
    throw error;
  }
}
