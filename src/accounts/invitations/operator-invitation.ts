/** Invites an operator from the command line. This is how an installation gets its first operator. */
import { AppError } from "../../core/errors.ts";
import { newUuid, toTypedId } from "../../core/ids.ts";
import { systemActor } from "../../core/principal.ts";
import { NO_SOURCE, recordAuditEvent } from "../../audit/api.ts";
import { accountEmail, parseOrThrow } from "../fields.ts";
import type { AccountContext } from "../context.ts";
import { EmailTokenService } from "../email-token.service.ts";
import { hasAccount } from "../user.service.ts";
import { Invitation } from "./entity.ts";
import { lockInvitations } from "./service.ts";

/**
 * Returns the page for choosing a name and a password, which works once and can't be read again later. Inviting the same
 * e-mail address again returns a new link and invalidates the previous one. Throws BadRequestException for an invalid e-mail
 * address, ConflictException if it has an account.
 */
export async function inviteOperator(
  { database, clock, pageUrl }: Pick<AccountContext, "database" | "clock" | "pageUrl">,
  input: string,
): Promise<{ email: string; url: string; expiresAt: Date }> {
  const email = parseOrThrow(accountEmail, input, "email");
  const emailTokens = new EmailTokenService({ database, clock });
  return await database.transactional(async (em, tx) => {
    if (await hasAccount(em, email))
      throw new AppError("ConflictException", `${email} already has an account`);
    await lockInvitations(tx, null);
    const invitedAt = new Date(clock.now());
    const existing = await em.findOne(Invitation, { organization: null, email });
    const created = {
      id: newUuid(),
      organization: null,
      email,
      role: "operator",
      invitedBy: "system",
    } as const;
    const { id } = existing
      ? em.assign(existing, { invitedAt })
      : em.create(Invitation, { ...created, invitedAt }, { persist: true });
    const { token, expiresAt } = await emailTokens.issue(tx, { kind: "invitation", subjectId: id, email });
    await recordAuditEvent(em, {
      action: "member.invited",
      actor: systemActor,
      organizationId: null,
      subject: toTypedId("inv", id),
      details: { email, role: "operator" },
      ...NO_SOURCE,
    });
    return { email, url: pageUrl(`/invitation#token=${token}`), expiresAt };
  });
}
