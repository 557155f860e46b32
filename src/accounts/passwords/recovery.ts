/** Links of the command line for users who can't sign in: single sign-on is down, or mails don't arrive. */
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { AccountDeps } from "../context.ts";
import { issueEmailLink } from "../email-token.service.ts";
import { userByEmail } from "../user.service.ts";

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
