/** The hooks of a signed-in user's changes to their own account: two-factor authentication, and signing out. */
import { APIError } from "better-auth/api";
import { requireFreshAuthentication } from "../../core/fresh-authentication.ts";
import type { AccountContext } from "../context.ts";
import { UserCredential } from "../credential.entity.ts";
import { requirePasskeyOf } from "../passkeys/hooks.ts";
import { FORGOTTEN_PASSWORD_PATH, twoFactorChangedMail } from "../passwords/mails.ts";
import { UserVerification } from "../sessions/entity.ts";
import type { SessionPrincipal } from "../sessions/session-principal.ts";
import { revokeSessions } from "../user.service.ts";
import { authRequest, type EndpointHooks, recordOwnEvent, signedInUser } from "./auth-request.ts";
import { cookieAttributes, TWO_FACTOR_COOKIE } from "./cookies.ts";

export function accountHooks(context: AccountContext): EndpointHooks {
  const { database, mails, pageUrl } = context;
  const mailChange = (on: Parameters<typeof mails.enqueue>[0], { user }: SessionPrincipal, isOn: boolean) =>
    mails.enqueue(on, twoFactorChangedMail(user.email, isOn, pageUrl(FORGOTTEN_PASSWORD_PATH)));
  return {
    before: {
      "/two-factor/enable": async () => {
        await requirePasskeyOf(database, signedInUser());
        await takePasswordAttempt(context);
      },
      "/two-factor/disable": async () => {
        if (signedInUser().user.requiresTwoFactor)
          throw new APIError("CONFLICT", {
            code: "TWO_FACTOR_REQUIRED",
            message: "Your account must use two-factor authentication",
          });
        await takePasswordAttempt(context);
      },
      "/two-factor/generate-backup-codes": () => takePasswordAttempt(context),
    },
    after: {
      // The next code turns two-factor authentication on. It must not complete an older sign-in.
      "/two-factor/enable": async (endpoint) =>
        void endpoint.setCookie(TWO_FACTOR_COOKIE, "", { ...cookieAttributes, maxAge: 0 }),
      "/two-factor/verify-totp": async (endpoint) => {
        const { principal } = authRequest();
        if (!principal || principal.user.hasTwoFactor) return;
        await database.transaction(async (tx) => {
          const token = endpoint.context.newSession?.session.token ?? null;
          const ended = await revokeSessions(tx, principal.user.id, { token });
          await recordOwnEvent(tx, "two_factor.enabled", { sessions_ended: ended });
          await mailChange(tx, principal, true);
        });
      },
      "/two-factor/disable": async () => {
        const principal = signedInUser();
        await database.transaction(async (tx) => {
          await tx.em().nativeDelete(UserVerification, { value: principal.user.id });
          await recordOwnEvent(tx, "two_factor.disabled");
          await mailChange(tx, principal, false);
        });
      },
      "/two-factor/generate-backup-codes": () => recordOwnEvent(database, "recovery_codes.regenerated"),
      "/sign-out": () => recordOwnEvent(database, "session.closed"),
    },
  };
}

/** Without a password, a recent sign-in is needed instead, and in addition to it if a code protects the account. */
async function takePasswordAttempt({ database, clock, throttle }: AccountContext): Promise<void> {
  const request = authRequest();
  const principal = signedInUser();
  const { id, hasTwoFactor } = principal.user;
  const password = { user: id, password: { $ne: null } };
  if (hasTwoFactor || (await database.em().count(UserCredential, password)) === 0)
    requireFreshAuthentication(principal, clock.now());
  request.attempts = [["password-account", id]];
  await throttle.take(...request.attempts);
}
