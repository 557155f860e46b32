/** A person's second factor: codes of an app (TOTP), and recovery codes for when that is lost. */
import type { MailService } from "../mail/mail.service.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/database.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import { requireFreshAuthentication } from "../platform/fresh-authentication.ts";
import { record } from "./audit.service.ts";
import { callAuth, headersOf } from "./auth.call.ts";
import { SESSION_COOKIE, signedValue } from "./auth.cookies.ts";
import type { Auth } from "./auth.ts";
import type { Visit } from "./auth.visit.ts";
import { FORGOTTEN_PAGE, secondFactorMail } from "./password.mails.ts";
import type { SessionHolder } from "./session.holder.ts";
import type { Throttle } from "./throttle.ts";
import type { RecoveryCodeKeeper } from "./two-factor.recovery-codes.ts";
import { turnOff } from "./two-factor.reset.ts";
import type { SecondFactorSecrets } from "./two-factor.secrets.ts";
import type { UserService } from "./user.service.ts";

export interface TwoFactorService {
  /** Answers with the `otpauth:` address that an app is shown. Nothing counts until a code is confirmed. */
  begin(holder: SessionHolder, password: string, visit: Visit): Promise<string>;
  /** Turns it on. The session goes on under another id, and the person's others, opened by a password alone, end. */
  confirm(holder: SessionHolder, code: string, visit: Visit): Promise<RecoveryCodes>;
  /** Replaces the codes. Throws ReauthenticationRequiredError without a fresh authentication, as does `disable`. */
  renewCodes(holder: SessionHolder, visit: Visit): Promise<readonly string[]>;
  /** Turns it off. Throws ConflictException for users who must have it. */
  disable(holder: SessionHolder, visit: Visit): Promise<void>;
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
  clock: Clock;
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
  holder: SessionHolder;
  visit: Visit;
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
      await parts.database.transaction((tx) =>
        tell(parts, tx, { holder, visit, action: "second_factor.enabled", details }),
      );
      return { codes: made.codes, cookies };
    },

    async renewCodes(holder, visit) {
      if (!holder.user.hasSecondFactor) throw isOff();
      requireFreshAuthentication(holder, parts.clock.now());
      const made = await recoveryCodes.make();
      await recoveryCodes.keep(holder.user.id, made);
      await tell(parts, parts.database, { holder, visit, action: "recovery_codes.renewed" });
      return made.codes;
    },

    disable: (holder, visit) => disable(parts, holder, visit),
  };
}

async function disable(parts: TwoFactorParts, holder: SessionHolder, visit: Visit): Promise<void> {
  const { id, hasSecondFactor, mustHaveSecondFactor } = holder.user;
  if (!hasSecondFactor) throw isOff();
  if (mustHaveSecondFactor) throw new AppError("ConflictException", "Your account must have a second step");
  requireFreshAuthentication(holder, parts.clock.now());
  await parts.database.transaction(async (tx) => {
    if (!(await turnOff(tx, id))) throw isOff();
    await tell(parts, tx, { holder, visit, action: "second_factor.disabled" });
  });
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

/** Records the act, and mails the user where two-factor was turned on or off. */
async function tell(
  { mails, pageUrl }: TwoFactorParts,
  on: Queryable,
  { holder, visit, action, details }: Told,
): Promise<void> {
  const { user, actor, organizationId } = holder;
  const { address, requestId } = visit;
  await record(on, { action, details, actor, organizationId, address, requestId });
  if (action === "recovery_codes.renewed") return;
  const isOn = action === "second_factor.enabled";
  await mails.enqueue(on, secondFactorMail(user.email, isOn, pageUrl(FORGOTTEN_PAGE)));
}
