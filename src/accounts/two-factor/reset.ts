/** Turns two-factor authentication off, and removes passkeys, for users who have lost their devices and recovery codes. */
import { raw } from "@mikro-orm/postgresql";
import { AppError } from "../../core/errors.ts";
import { User } from "../../organizations/api.ts";
import type { AccountDeps } from "../context.ts";
import { UserTwoFactor } from "../credential.entity.ts";
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import { UserPasskey } from "../passkeys/entity.ts";
import { FORGOTTEN_PASSWORD_PATH, twoFactorResetMail } from "../passwords/mails.ts";
import { revokeSessions, userByEmail } from "../user.service.ts";

/**
 * Also revokes the user's sessions and mails them. `input`: the e-mail address. Throws as `userByEmail` does, and
 * ConflictException if two-factor authentication is off.
 */
export async function resetTwoFactor(
  { database, mails, pageUrl }: Pick<AccountDeps, "database" | "mails" | "pageUrl">,
  context: AuditContext,
  input: string,
): Promise<{ email: string; sessionsEnded: number }> {
  return await database.transactional(async (em, tx) => {
    const user = await userByEmail(em, input);
    const { email } = user;
    // Locks sessions before the account, in the same order as using a session, to avoid deadlocks.
    const sessionsEnded = await revokeSessions(tx, user.id);
    const change = { twoFactorEnabled: false, updatedAt: raw("now()") };
    const passkeysRemoved = await em.nativeDelete(UserPasskey, { user: user.id });
    const isReset = (await em.nativeUpdate(User, { id: user.id, twoFactorEnabled: true }, change)) > 0;
    if (!isReset && passkeysRemoved === 0)
      throw new AppError("ConflictException", `Two-factor authentication is off for ${email}`);
    await em.nativeDelete(UserTwoFactor, { user: user.id });
    await mails.enqueue(tx, twoFactorResetMail(email, pageUrl(FORGOTTEN_PASSWORD_PATH)));
    const { actor, ipAddress, requestId } = context;
    await recordAuditEvent(tx, {
      action: "two_factor.reset",
      organizationId: user.organization?.id ?? null,
      subject: email,
      details: { sessions_ended: sessionsEnded, passkeys_removed: passkeysRemoved || undefined },
      actor,
      ipAddress,
      requestId,
    });
    return { email, sessionsEnded };
  });
}
