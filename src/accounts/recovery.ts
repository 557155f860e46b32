/** Helps users who can't sign in: their identity provider is down, mails don't arrive, or they lost their devices. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { AppError } from "../core/errors.ts";
import { User } from "../organizations/api.ts";
import type { AccountDeps } from "./context.ts";
import { UserTwoFactor } from "./credential.entity.ts";
import { issueEmailLink } from "./email-token.service.ts";
import { accountEmail, parseOrThrow } from "./fields.ts";
import { UserPasskey } from "./passkeys/entity.ts";
import { FORGOTTEN_PASSWORD_PATH, twoFactorResetMail } from "./passwords/mails.ts";
import { revokeSessions } from "./user.service.ts";

/**
 * Returns a link to choose a new password. Until it expires, after an hour, the password also signs in although SSO_ONLY is on.
 * `input`: the e-mail address. Throws as `userByEmail` does.
 */
export async function issueRecoveryLink(
  deps: Pick<AccountDeps, "database" | "clock" | "pageUrl">,
  context: AuditContext,
  input: string,
): Promise<{ email: string; url: string; expiresAt: Date }> {
  return await deps.database.transactional(async (em, tx) => {
    const user = await userByEmail(em, input);
    const { email, id: subjectId } = user;
    const link = await issueEmailLink(tx, deps, { kind: "password_reset", subjectId, email });
    em.assign(user, { passwordAllowedUntil: link.expiresAt });
    const organizationId = user.organization?.id ?? null;
    await recordAuditEvent(em, { ...context, action: "password.recovered", organizationId, subject: email });
    return { email, ...link };
  });
}

/**
 * Turns two-factor authentication off, removes the user's passkeys, revokes their sessions and mails them. `input`: the e-mail
 * address. Throws as `userByEmail` does, and ConflictException if two-factor authentication is off.
 */
export async function resetTwoFactor(
  { database, mails, pageUrl }: Pick<AccountDeps, "database" | "mails" | "pageUrl">,
  context: AuditContext,
  input: string,
): Promise<{ email: string; sessionsEnded: number }> {
  return await database.transactional(async (em, tx) => {
    const user = await userByEmail(em, input);
    const { id, email } = user;
    const passkeysRemoved = await em.nativeDelete(UserPasskey, { user: id });
    if (!user.twoFactorEnabled && passkeysRemoved === 0)
      throw new AppError("ConflictException", `Two-factor authentication is off for ${email}`);
    const sessionsEnded = await revokeSessions(tx, id);
    em.assign(user, { twoFactorEnabled: false, updatedAt: new Date() });
    await em.nativeDelete(UserTwoFactor, { user: id });
    await mails.enqueue(tx, twoFactorResetMail(email, pageUrl(FORGOTTEN_PASSWORD_PATH)));
    await recordAuditEvent(tx, {
      ...context,
      action: "two_factor.reset",
      organizationId: user.organization?.id ?? null,
      subject: email,
      details: { sessions_ended: sessionsEnded, passkeys_removed: passkeysRemoved || undefined },
    });
    return { email, sessionsEnded };
  });
}

/** `input`: an e-mail address. Throws BadRequestException if it is invalid, and NotFoundException if it has no account. */
async function userByEmail(em: EntityManager, input: string): Promise<User> {
  const email = parseOrThrow(accountEmail, input, "email");
  const user = await em.findOne(User, { email });
  if (!user) throw new AppError("NotFoundException", `No account has the e-mail address ${email}`);
  return user;
}
