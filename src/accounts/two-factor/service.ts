/** Two-factor authentication of users: TOTP codes of an authenticator app, and recovery codes. */
import type { Reader } from "../../core/postgres/database.ts";
import { AppError, badRequest } from "../../core/errors.ts";
import { requireFreshAuthentication } from "../../core/fresh-authentication.ts";
import { callBetterAuth, authHeaders } from "../auth/better-auth.client.ts";
import { recordUserEvent, type ClientInfo } from "../auth/client-info.ts";
import { SESSION_COOKIE, readSignedCookie } from "../auth/cookies.ts";
import type { AccountContext } from "../context.ts";
import { FORGOTTEN_PASSWORD_PATH, twoFactorChangedMail } from "../passwords/mails.ts";
import type { SessionPrincipal } from "../sessions/session-principal.ts";
import { revokeSessions } from "../user.service.ts";
import { generateRecoveryCodes, saveRecoveryCodes, twoFactorOffError } from "./recovery-codes.ts";
import { disableTwoFactor } from "./reset.ts";

export class TwoFactorService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /**
   * Returns the `otpauth:` URI for the authenticator app. Two-factor stays off until a code is confirmed. Throws
   * BadRequestException for a wrong password, and TooManyRequestsException.
   */
  async begin(principal: SessionPrincipal, password: string, client: ClientInfo): Promise<string> {
    const { auth, throttle } = this.#context;
    await throttle.take(["password-account", principal.user.id]);
    const { result } = await callBetterAuth(() =>
      auth.api.enableTwoFactor(requestOptions({ password }, client)),
    );
    await throttle.refund(["password-account", principal.user.id]);
    return "totpURI" in result ? result.totpURI : "";
  }

  /**
   * Turns two-factor on. Replaces the current session, and revokes the user's other sessions. Returns the recovery codes,
   * each of which works once, and `Set-Cookie` texts.
   */
  async confirm(
    principal: SessionPrincipal,
    code: string,
    client: ClientInfo,
  ): Promise<{ codes: readonly string[]; cookies: readonly string[] }> {
    const { auth, authSecret, database, hasher, throttle, twoFactorDiagnostics } = this.#context;
    const { id, hasTwoFactor } = principal.user;
    if (hasTwoFactor) throw new AppError("ConflictException", "Two-factor authentication is already on");
    await throttle.take(["two-factor-account", id]);
    // First, as this fails if the hasher is busy: two-factor must not be on without recovery codes.
    const generated = await generateRecoveryCodes(hasher);
    const { cookies } = await twoFactorDiagnostics.explainFailure(id, () =>
      callBetterAuth(() => auth.api.verifyTOTP(requestOptions({ code }, client)), wrongCodeErrors),
    );
    // A sign-in still in progress revokes its own session (auth/sign-in.service.ts).
    const token = readSignedCookie(cookies.join(";"), SESSION_COOKIE, authSecret);
    const sessionsEnded = await revokeSessions(database, id, { token });
    // Marks the code as used, so that an onlooker can't sign in with it.
    await throttle.tryTake(["totp-replay", `${id} ${code}`]);
    await throttle.refund(["two-factor-account", id]);
    await saveRecoveryCodes(this.#context, id, generated);
    await database.transaction(async (tx) => {
      const details = { sessions_ended: sessionsEnded };
      await recordUserEvent(tx, principal, client, { action: "two_factor.enabled", details });
      await this.#mailChange(tx, principal, true);
    });
    return { codes: generated.codes, cookies };
  }

  /** Replaces the recovery codes. Throws ReauthenticationRequiredError without a fresh authentication, as does `disable`. */
  async regenerateRecoveryCodes(principal: SessionPrincipal, client: ClientInfo): Promise<readonly string[]> {
    const { clock, database, hasher } = this.#context;
    if (!principal.user.hasTwoFactor) throw twoFactorOffError();
    requireFreshAuthentication(principal, clock.now());
    const generated = await generateRecoveryCodes(hasher);
    await saveRecoveryCodes(this.#context, principal.user.id, generated);
    await recordUserEvent(database, principal, client, { action: "recovery_codes.regenerated" });
    return generated.codes;
  }

  /** Turns two-factor off. Throws ConflictException for users who must have it. */
  async disable(principal: SessionPrincipal, client: ClientInfo): Promise<void> {
    const { clock, database } = this.#context;
    const { id, hasTwoFactor, requiresTwoFactor } = principal.user;
    if (!hasTwoFactor) throw twoFactorOffError();
    if (requiresTwoFactor)
      throw new AppError("ConflictException", "Your account must use two-factor authentication");
    requireFreshAuthentication(principal, clock.now());
    await database.transaction(async (tx) => {
      if (!(await disableTwoFactor(tx, id))) throw twoFactorOffError();
      await recordUserEvent(tx, principal, client, { action: "two_factor.disabled" });
      await this.#mailChange(tx, principal, false);
    });
  }

  #mailChange(on: Reader, { user: { email } }: SessionPrincipal, isOn: boolean): Promise<void> {
    const { mails, pageUrl } = this.#context;
    return mails.enqueue(on, twoFactorChangedMail(email, isOn, pageUrl(FORGOTTEN_PASSWORD_PATH)));
  }
}

/** The options of a library call. */
function requestOptions<Body>(body: Body, client: ClientInfo) {
  return { body, headers: authHeaders(client, client.cookie), returnHeaders: true } as const;
}

/** A 400 instead of a 401: the user is signed in, and only the code is wrong. */
const wrongCodeErrors = {
  INVALID_CODE: () =>
    badRequest([{ location: "body", field: "code", code: "invalid_value", message: "is wrong" }]),
};
