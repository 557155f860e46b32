/** A person's second factor: codes of an app (TOTP), and recovery codes for when that is lost. */
import type { MailService } from "../../mail/api.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable } from "../../platform/postgres/database.ts";
import { AppError, badRequest } from "../../platform/errors.ts";
import { requireFreshAuthentication } from "../../platform/fresh-authentication.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import { callBetterAuth, authHeaders } from "../auth/better-auth.client.ts";
import { SESSION_COOKIE, readSignedCookie } from "../auth/cookies.ts";
import type { BetterAuth } from "../auth/better-auth.ts";
import type { ClientInfo } from "../auth/client-info.ts";
import { FORGOTTEN_PASSWORD_PATH, twoFactorChangedMail } from "../passwords/mails.ts";
import type { SessionPrincipal } from "../sessions/principal.ts";
import type { Throttle } from "../auth/throttle.ts";
import type { RecoveryCodeStore } from "./recovery-codes.ts";
import { disableTwoFactor } from "./reset.ts";
import type { TwoFactorDiagnostics } from "./diagnostics.ts";
import type { UserService } from "../user.service.ts";

export interface TwoFactorService {
  /** Answers with the `otpauth:` address that an app is shown. Nothing counts until a code is confirmed. */
  begin(holder: SessionPrincipal, password: string, visit: ClientInfo): Promise<string>;
  /** Turns it on. The session goes on under another id, and the person's others, opened by a password alone, end. */
  confirm(holder: SessionPrincipal, code: string, visit: ClientInfo): Promise<TwoFactorConfirmation>;
  /** Replaces the codes. Throws ReauthenticationRequiredError without a fresh authentication, as does `disable`. */
  regenerateRecoveryCodes(holder: SessionPrincipal, visit: ClientInfo): Promise<readonly string[]>;
  /** Turns it off. Throws ConflictException for users who must have it. */
  disable(holder: SessionPrincipal, visit: ClientInfo): Promise<void>;
}

export interface TwoFactorConfirmation {
  /** Each good once. */
  readonly codes: readonly string[];
  /** `Set-Cookie` texts. */
  readonly cookies: readonly string[];
}

export interface TwoFactorDeps {
  auth: BetterAuth;
  database: Database;
  clock: Clock;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  users: Pick<UserService, "revokeSessions">;
  twoFactorDiagnostics: TwoFactorDiagnostics;
  recoveryCodes: RecoveryCodeStore;
  /** Signs the cookies. */
  secret: string;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

interface TwoFactorEvent {
  principal: SessionPrincipal;
  client: ClientInfo;
  action: "two_factor.enabled" | "two_factor.disabled" | "recovery_codes.regenerated";
  details?: Record<string, unknown>;
}

export function createTwoFactorService(deps: TwoFactorDeps): TwoFactorService {
  const { auth, throttle, recoveryCodes } = deps;

  /** The library compares the password; how often, we bound. */
  const withPassword = async <T>({ user }: SessionPrincipal, work: () => Promise<T>): Promise<T> => {
    await throttle.take(["password-account", user.id]);
    const result = await work();
    await throttle.refund(["password-account", user.id]);
    return result;
  };

  return {
    async begin(principal, password, client) {
      const { result } = await withPassword(principal, () =>
        callBetterAuth(() => auth.api.enableTwoFactor(requestOptions({ password }, client))),
      );
      return "totpURI" in result ? result.totpURI : "";
    },

    async confirm(principal, code, client) {
      const { id } = principal.user;
      if (principal.user.hasTwoFactor)
        throw new AppError("ConflictException", "The second factor is on already");
      await throttle.take(["two-factor-account", id]);
      // Before anything is turned on: else a hasher that is busy would leave it on without codes.
      const generated = await recoveryCodes.generate();
      const { cookies } = await deps.twoFactorDiagnostics.explainFailure(id, () =>
        callBetterAuth(() => auth.api.verifyTOTP(requestOptions({ code }, client)), wrongCodeErrors),
      );
      const sessionsEnded = await revokeOtherSessions(deps, id, cookies);
      // It is spent: who saw it entered cannot sign in with it.
      await throttle.tryTake(["totp-replay", `${id} ${code}`]);
      await throttle.refund(["two-factor-account", id]);
      await recoveryCodes.save(id, generated);
      const details = { sessions_ended: sessionsEnded };
      await deps.database.transaction((tx) =>
        recordAndMail(deps, tx, { principal, client, action: "two_factor.enabled", details }),
      );
      return { codes: generated.codes, cookies };
    },

    async regenerateRecoveryCodes(principal, client) {
      if (!principal.user.hasTwoFactor) throw notEnabledError();
      requireFreshAuthentication(principal, deps.clock.now());
      const made = await recoveryCodes.generate();
      await recoveryCodes.save(principal.user.id, made);
      await recordAndMail(deps, deps.database, { principal, client, action: "recovery_codes.regenerated" });
      return made.codes;
    },

    disable: (holder, visit) => disable(deps, holder, visit),
  };
}

async function disable(deps: TwoFactorDeps, principal: SessionPrincipal, client: ClientInfo): Promise<void> {
  const { id, hasTwoFactor, requiresTwoFactor } = principal.user;
  if (!hasTwoFactor) throw notEnabledError();
  if (requiresTwoFactor) throw new AppError("ConflictException", "Your account must have a second step");
  requireFreshAuthentication(principal, deps.clock.now());
  await deps.database.transaction(async (tx) => {
    if (!(await disableTwoFactor(tx, id))) throw notEnabledError();
    await recordAndMail(deps, tx, { principal, client, action: "two_factor.disabled" });
  });
}

/** All but the one of `cookies`. A sign-in that is under way sees that the second factor is on, and ends its own (auth.sign-in.ts). */
function revokeOtherSessions(
  { database, users, secret }: TwoFactorDeps,
  userId: string,
  cookies: readonly string[],
): Promise<number> {
  const token = readSignedCookie(cookies.join(";"), SESSION_COOKIE, secret);
  return users.revokeSessions(database, userId, { token });
}

function notEnabledError(): AppError {
  return new AppError("ConflictException", "The second factor is off");
}

/** What the library is asked with. */
function requestOptions<Body>(body: Body, client: ClientInfo) {
  return { body, headers: authHeaders(client, client.cookie), returnHeaders: true } as const;
}

/** The person is signed in: a wrong code is a wrong entry, not a lack of a session. */
const wrongCodeErrors = {
  INVALID_CODE: () =>
    badRequest([{ location: "body", field: "code", code: "invalid_value", message: "is not right" }]),
};

/** Records the act, and mails the user where two-factor was turned on or off. */
async function recordAndMail(
  { mails, pageUrl }: TwoFactorDeps,
  on: Queryable,
  { principal, client, action, details }: TwoFactorEvent,
): Promise<void> {
  const { user, actor, organizationId } = principal;
  const { address, requestId } = client;
  await recordAuditEvent(on, { action, details, actor, organizationId, address, requestId });
  if (action === "recovery_codes.regenerated") return;
  const isEnabled = action === "two_factor.enabled";
  await mails.enqueue(on, twoFactorChangedMail(user.email, isEnabled, pageUrl(FORGOTTEN_PASSWORD_PATH)));
}
