/** Invites operators from the command line, without mails. */
import { AppError } from "../../core/errors.ts";
import { newUuid } from "../../core/ids.ts";
import { actorDisplayName, type AuditContext } from "../../audit/api.ts";
import { accountEmail, parseOrThrow } from "../fields.ts";
import type { AccountContext } from "../context.ts";
import { hasAccount } from "../user.service.ts";
import { Invitation } from "./entity.ts";
import { issueInvitationLink, lockInvitations } from "./service.ts";

/**
 * Returns the page for choosing a name and a password, which works once and can't be read again later. Inviting the same
 * e-mail address again returns a new link and invalidates the previous one. Throws BadRequestException for an invalid e-mail
 * address, ConflictException if it has an account.
 */
export async function inviteOperator(
  deps: Pick<AccountContext, "database" | "clock" | "pageUrl">,
  context: AuditContext,
  input: string,
): Promise<{ email: string; url: string; expiresAt: Date }> {
  const email = parseOrThrow(accountEmail, input, "email");
  return await deps.database.transactional(async (em, tx) => {
    if (await hasAccount(em, email))
      throw new AppError("ConflictException", `${email} already has an account`);
    await lockInvitations(tx, null);
    const former = await em.findOne(Invitation, { organization: null, email });
    const sent = {
      role: "operator",
      invitedBy: await actorDisplayName(em, context.actor),
      invitedAt: new Date(deps.clock.now()),
    } as const;
    const invitation = former
      ? em.assign(former, sent)
      : em.create(Invitation, { id: newUuid(), organization: null, email, ...sent }, { persist: true });
    const link = await issueInvitationLink(tx, deps, invitation, { ...context, action: "member.invited" });
    return { email, ...link };
  });
}
