/** Two-factor authentication of users: TOTP codes of an authenticator app, and recovery codes. */
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
  /** Returns the `otpauth:` URI for the authenticator app. Two-factor stays off until a code is confirmed. */
  begin(principal: SessionPrincipal, password: string, client: ClientInfo): Promise<string>;
  /** Turns two-factor on. Replaces the current session, and revokes the user's other sessions. */
  confirm(principal: SessionPrincipal, code: string, client: ClientInfo): Promise<TwoFactorConfirmation>;
  /** Replaces the recovery codes. Throws ReauthenticationRequiredError without a fresh authentication, as does `disable`. */
  regenerateRecoveryCodes(principal: SessionPrincipal, client: ClientInfo): Promise<readonly string[]>;
  /** Turns two-factor off. Throws ConflictException for users who must have it. */
  disable(principal: SessionPrincipal, client: ClientInfo): Promise<void>;
}

export interface TwoFactorConfirmation {
  /** The recovery codes. Each works once. */
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
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
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

  /** Limits the password attempts of `call`, in which the library checks the password. */
  const withPasswordLimit = async <T>({ user }: SessionPrincipal, call: () => Promise<T>): Promise<T> => {
    await throttle.take(["password-account", user.id]);
    const result = await call();
    await throttle.refund(["password-account", user.id]);
    return result;
  };

  return {
    async begin(principal, password, client) {
      const { result } = await withPasswordLimit(principal, () =>
        callBetterAuth(() => auth.api.enableTwoFactor(requestOptions({ password }, client))),
      );
      return "totpURI" in result ? result.totpURI : "";
    },

    async confirm(principal, code, client) {
      const { id } = principal.user;
      if (principal.user.hasTwoFactor)
        throw new AppError("ConflictException", "Two-factor authentication is already on");
      await throttle.take(["two-factor-account", id]);
      // First, as this fails if the hasher is busy: two-factor must not be on without recovery codes.
      const generated = await recoveryCodes.generate();
      const { cookies } = await deps.twoFactorDiagnostics.explainFailure(id, () =>
        callBetterAuth(() => auth.api.verifyTOTP(requestOptions({ code }, client)), wrongCodeErrors),
      );
      const sessionsEnded = await revokeOtherSessions(deps, id, cookies);
      // Marks the code as used, so that an onlooker can't sign in with it.
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
      const generated = await recoveryCodes.generate();
      await recoveryCodes.save(principal.user.id, generated);
      await recordAndMail(deps, deps.database, { principal, client, action: "recovery_codes.regenerated" });
      return generated.codes;
    },

    disable: (principal, client) => disable(deps, principal, client),
  };
}

async function disable(deps: TwoFactorDeps, principal: SessionPrincipal, client: ClientInfo): Promise<void> {
  const { id, hasTwoFactor, requiresTwoFactor } = principal.user;
  if (!hasTwoFactor) throw notEnabledError();
  if (requiresTwoFactor)
    throw new AppError("ConflictException", "Your account must use two-factor authentication");
  requireFreshAuthentication(principal, deps.clock.now());
  await deps.database.transaction(async (tx) => {
    if (!(await disableTwoFactor(tx, id))) throw notEnabledError();
    await recordAndMail(deps, tx, { principal, client, action: "two_factor.disabled" });
  });
}

/** Keeps only the session of `cookies`. A sign-in still in progress revokes its own session (auth/sign-in.service.ts). */
function revokeOtherSessions(
  { database, users, secret }: TwoFactorDeps,
  userId: string,
  cookies: readonly string[],
): Promise<number> {
  const token = readSignedCookie(cookies.join(";"), SESSION_COOKIE, secret);
  return users.revokeSessions(database, userId, { token });
}

function notEnabledError(): AppError {
  return new AppError("ConflictException", "Two-factor authentication is off");
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

/** Records the event, and mails the user if two-factor was turned on or off. */
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
