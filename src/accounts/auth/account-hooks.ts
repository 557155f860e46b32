/** The hooks of a signed-in user's changes to their own account: two-factor authentication, and signing out. */
import type { GenericEndpointContext } from "better-auth";
import { APIError } from "better-auth/api";
import { requireFreshAuthentication } from "../../core/fresh-authentication.ts";
import { UserCredential } from "../credential.entity.ts";
import { requirePasskeyOf } from "../passkeys/hooks.ts";
import { FORGOTTEN_PASSWORD_PATH, twoFactorChangedMail } from "../passwords/mails.ts";
import { UserVerification } from "../sessions/entity.ts";
import type { SessionPrincipal } from "../sessions/session-principal.ts";
import { revokeSessions } from "../user.service.ts";
import { authRequest } from "./auth-request.ts";
import { recordUserEvent } from "./client-info.ts";
import { cookieAttributes, TWO_FACTOR_COOKIE } from "./cookies.ts";
import type { AccountContext } from "../context.ts";

type Endpoint = GenericEndpointContext;

const withPassword = new Set([
  "/two-factor/enable",
  "/two-factor/disable",
  "/two-factor/generate-backup-codes",
]);

/**
 * Takes an attempt at the password. Without one, a recent sign-in is needed instead, and in addition to it if a code protects the
 * account.
 */
export async function beforeChange(context: AccountContext, { path }: Endpoint): Promise<void> {
  const request = authRequest();
  const { principal } = request;
  if (!principal || !withPassword.has(path)) return;
  const { id, hasTwoFactor, requiresTwoFactor } = principal.user;
  if (path === "/two-factor/enable") await requirePasskeyOf(context.database, principal);
  if (path === "/two-factor/disable" && requiresTwoFactor)
    throw new APIError("CONFLICT", {
      code: "TWO_FACTOR_REQUIRED",
      message: "Your account must use two-factor authentication",
    });
  const { database, clock, throttle } = context;
  if (
    hasTwoFactor ||
    (await database.em().count(UserCredential, { user: id, password: { $ne: null } })) === 0
  )
    requireFreshAuthentication(principal, clock.now());
  request.attempts = [["password-account", id]];
  await throttle.take(...request.attempts);
}

export async function afterChange(context: AccountContext, endpoint: Endpoint): Promise<void> {
  const { principal, client } = authRequest();
  if (!principal) return;
  const { database } = context;
  const { id, hasTwoFactor } = principal.user;
  switch (endpoint.path) {
    case "/two-factor/enable":
      // The next code turns two-factor authentication on. It must not complete an older sign-in.
      endpoint.setCookie(TWO_FACTOR_COOKIE, "", { ...cookieAttributes, maxAge: 0 });
      return;
    case "/two-factor/verify-totp": {
      if (hasTwoFactor) return;
      await database.transaction(async (tx) => {
        const kept = endpoint.context.newSession?.session.token ?? null;
        const details = { sessions_ended: await revokeSessions(tx, id, { token: kept }) };
        await recordUserEvent(tx, principal, client, { action: "two_factor.enabled", details });
        await mailChange(context, tx, principal, true);
      });
      return;
    }
    case "/two-factor/disable":
      await database.transaction(async (tx) => {
        await tx.em().nativeDelete(UserVerification, { value: id });
        await recordUserEvent(tx, principal, client, { action: "two_factor.disabled" });
        await mailChange(context, tx, principal, false);
      });
      return;
    case "/two-factor/generate-backup-codes":
      await recordUserEvent(database, principal, client, { action: "recovery_codes.regenerated" });
      return;
    case "/sign-out":
      await recordUserEvent(database, principal, client, { action: "session.closed" });
      return;
    default:
  }
}

function mailChange(
  { mails, pageUrl }: AccountContext,
  on: Parameters<AccountContext["mails"]["enqueue"]>[0],
  { user: { email } }: SessionPrincipal,
  isOn: boolean,
): Promise<void> {
  return mails.enqueue(on, twoFactorChangedMail(email, isOn, pageUrl(FORGOTTEN_PASSWORD_PATH)));
}
