/** Links of the command line for users who can't sign in: single sign-on is down, or mails don't arrive. */
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import { AppError } from "../../core/errors.ts";
import { User } from "../../organizations/api.ts";
import type { AccountDeps } from "../context.ts";
import { EmailTokenService } from "../email-token.service.ts";
import { accountEmail, parseOrThrow } from "../fields.ts";

/**
 * Returns a link to choose a new password. Until it expires, after an hour, the password also signs in although SSO_ONLY is on.
 * `input`: the e-mail address. Throws BadRequestException if it is invalid, and NotFoundException if it has no account.
 */
export async function issueRecoveryLink(
  { database, clock, pageUrl }: Pick<AccountDeps, "database" | "clock" | "pageUrl">,
  context: AuditContext,
  input: string,
): Promise<{ email: string; url: string; expiresAt: Date }> {
  const email = parseOrThrow(accountEmail, input, "email");
  return await database.transactional(async (em, tx) => {
    const user = await em.findOne(User, { email });
    if (!user) throw new AppError("NotFoundException", `No account has the e-mail address ${email}`);
    const tokens = new EmailTokenService({ database, clock });
    const { token, expiresAt } = await tokens.issue(tx, {
      kind: "password_reset",
      subjectId: user.id,
      email,
    });
    em.assign(user, { passwordAllowedUntil: expiresAt });
    await em.flush();
    const organizationId = user.organization?.id ?? null;
    await recordAuditEvent(tx, { ...context, action: "password.recovered", organizationId, subject: email });
    return { email, url: pageUrl(`/reset-password#token=${token}`), expiresAt };
  });
}
