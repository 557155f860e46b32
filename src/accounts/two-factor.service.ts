/** A person's second factor: codes of an app (TOTP), and recovery codes for when that is lost. */
import type { MailService } from "../mail/mail.service.ts";
import type { Database } from "../platform/database.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import { record } from "./audit.service.ts";
import { callAuth, headersOf } from "./auth.call.ts";
import { SESSION_COOKIE, signedValue } from "./auth.cookies.ts";
import type { Auth } from "./auth.ts";
import type { Visit } from "./auth.visit.ts";
import { FORGOTTEN_PAGE, secondFactorMail } from "./password.mails.ts";
import type { SessionHolder } from "./session.holder.ts";
import type { Throttle } from "./throttle.ts";
import type { RecoveryCodeKeeper } from "./two-factor.recovery-codes.ts";
import type { SecondFactorSecrets } from "./two-factor.secrets.ts";
import type { UserService } from "./user.service.ts";

export interface TwoFactorService {
  /** Answers with the `otpauth:` address that an app is shown. Nothing counts until a code is confirmed. */
  begin(holder: SessionHolder, password: string, visit: Visit): Promise<string>;
  /** Turns it on. The session goes on under another id, and the person's others, opened by a password alone, end. */
  confirm(holder: SessionHolder, code: string, visit: Visit): Promise<RecoveryCodes>;
  /** The former ones are good no more. */
  renewCodes(holder: SessionHolder, password: string, visit: Visit): Promise<readonly string[]>;
  /**
   * Turns it off; answers with the cookies of the session, which goes on under another id. Throws ConflictException for
   * those who must have it.
   */
  disable(holder: SessionHolder, password: string, visit: Visit): Promise<readonly string[]>;
}

export interface RecoveryCodes {
  /** Each good once. */
  readonly codes: readonly string[];
  /** `Set-Cookie` texts. */
  readonly cookies: readonly string[];
}

export interface TwoFactorParts {
  auth: Auth;
  database: Database;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  users: Pick<UserService, "endSessions">;
  secondFactors: SecondFactorSecrets;
  recoveryCodes: RecoveryCodeKeeper;
  /** Signs the cookies. */
  secret: string;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

interface Told {
  action: "second_factor.enabled" | "second_factor.disabled" | "recovery_codes.renewed";
  details?: Record<string, unknown>;
}

export function createTwoFactorService(parts: TwoFactorParts): TwoFactorService {
  const { auth, throttle, recoveryCodes } = parts;

  /** The library compares the password; how often, we bound. */
  const withPassword = async <T>({ user }: SessionHolder, work: () => Promise<T>): Promise<T> => {
    await throttle.take(["password-account", user.id]);
    const result = await work();
    await throttle.giveBack(["password-account", user.id]);
    return result;
  };

  return {
    async begin(holder, password, visit) {
      const { result } = await withPassword(holder, () =>
        callAuth(() => auth.api.enableTwoFactor(asked({ password }, visit))),
      );
      return "totpURI" in result ? result.totpURI : "";
    },

    async confirm(holder, code, visit) {
      const { id } = holder.user;
      if (holder.user.hasSecondFactor)
        throw new AppError("ConflictException", "The second factor is on already");
      await throttle.take(["second-factor-account", id]);
      // Before anything is turned on: else a hasher that is busy would leave it on without codes.
      const made = await recoveryCodes.make();
      const { cookies } = await parts.secondFactors.checking(id, () =>
        callAuth(() => auth.api.verifyTOTP(asked({ code }, visit)), wrongEntry),
      );
      const sessionsEnded = await endOthers(parts, id, cookies);
      // It is spent: who saw it entered cannot sign in with it.
      await throttle.allows(["code-once", `${id} ${code}`]);
      await throttle.giveBack(["second-factor-account", id]);
      await recoveryCodes.keep(id, made);
      const details = { sessions_ended: sessionsEnded };
      await tell(parts, holder, visit, { action: "second_factor.enabled", details });
      return { codes: made.codes, cookies };
    },

    async renewCodes(holder, password, visit) {
      if (!holder.user.hasSecondFactor) throw isOff();
      await withPassword(holder, () => callAuth(() => auth.api.verifyPassword(asked({ password }, visit))));
      const made = await recoveryCodes.make();
      await recoveryCodes.keep(holder.user.id, made);
      await tell(parts, holder, visit, { action: "recovery_codes.renewed" });
      return made.codes;
    },

    async disable(holder, password, visit) {
      if (!holder.user.hasSecondFactor) throw isOff();
      if (holder.user.mustHaveSecondFactor)
        throw new AppError("ConflictException", "Your account must have a second step");
      const { cookies } = await withPassword(holder, () =>
        callAuth(() => auth.api.disableTwoFactor(asked({ password }, visit))),
      );
      await tell(parts, holder, visit, { action: "second_factor.disabled" });
      return cookies;
    },
  };
}

/** All but the one of `cookies`. A sign-in that is under way sees that the second factor is on, and ends its own (auth.sign-in.ts). */
function endOthers(
  { database, users, secret }: TwoFactorParts,
  userId: string,
  cookies: readonly string[],
): Promise<number> {
  const token = signedValue(cookies.join(";"), SESSION_COOKIE, secret);
  return users.endSessions(database, userId, { token });
}

function isOff(): AppError {
  return new AppError("ConflictException", "The second factor is off");
}

/** What the library is asked with. */
function asked<Body>(body: Body, visit: Visit) {
  return { body, headers: headersOf(visit, visit.cookie), returnHeaders: true } as const;
}

/** The person is signed in: a wrong code is a wrong entry, not a lack of a session. */
const wrongEntry = {
  INVALID_CODE: () =>
    badRequest([{ location: "body", field: "code", code: "invalid_value", message: "is not right" }]),
};

async function tell(
  { database, mails, pageUrl }: TwoFactorParts,
  { user, actor, organizationId }: SessionHolder,
  { address, requestId }: Visit,
  told: Told,
): Promise<void> {
  await database.transaction(async (tx) => {
    await record(tx, { ...told, actor, organizationId, address, requestId });
    if (told.action === "recovery_codes.renewed") return;
    const isOn = told.action === "second_factor.enabled";
    await mails.enqueue(tx, secondFactorMail(user.email, isOn, pageUrl(FORGOTTEN_PAGE)));
  });
}
