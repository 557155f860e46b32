/** Invitations to an organisation or to the operators: lists, sends, resends and revokes them. */
import { LockMode, type FilterQuery } from "@mikro-orm/postgresql";
import type { Reader } from "../../core/postgres/database.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { AppError } from "../../core/errors.ts";
import { fromTypedId, newUuid, toTypedId } from "../../core/ids.ts";
import { lockForTransaction } from "../../core/postgres/transaction-lock.ts";
import { actorDisplayName, type AuditContext, type AuditEvent, recordAuditEvent } from "../../audit/api.ts";
import { forTenant, Organization, User, type UserRole } from "../../organizations/api.ts";
import type { ThrottleAttempt } from "../auth/throttle.ts";
import type { AccountContext } from "../context.ts";
import { issueEmailLink, revokeEmailTokens } from "../email-token.service.ts";
import { accountEmail, parseOrThrow } from "../fields.ts";
import { assertRoleInGroup, type MemberAdmin, type MemberGroup } from "../members/member-admin.ts";
import { composeMail, type NewMail } from "../../mail/api.ts";
import { hasAccount } from "../user.service.ts";
import { Invitation } from "./entity.ts";

export const MAX_PENDING_INVITATIONS = 100;

/**
 * `id`: typed. An invitation of another group throws NotFoundException, as if it didn't exist. The caller must check that
 * the principal may invite. No result reveals whether the e-mail address has an account in another organisation.
 */
export class InvitationService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /** Pending invitations, newest first, including those whose link has expired. */
  list(group: MemberGroup, on: Reader = this.#context.database): Promise<Invitation[]> {
    const orderBy = { invitedAt: "desc", id: "desc" } as const;
    return forTenant(on.em(), group).find(Invitation, {}, { orderBy, limit: MAX_PENDING_INVITATIONS });
  }

  /**
   * Throws BadRequestException for a role of another group, ConflictException if the user is already a member or invited or if
   * 100 invitations are pending, and TooManyRequestsException.
   */
  async invite(admin: MemberAdmin, { email, role }: { email: string; role: UserRole }): Promise<Invitation> {
    const { clock, database, throttle } = this.#context;
    assertRoleInGroup(role, admin);
    await throttle.take(...throttleAttemptsOf(admin, email));
    return await database.transactional(async (em, tx) => {
      const { organizationId } = admin;
      const account = await em.findOne(User, { email }, { filters: false });
      if (account && (account.organization?.id ?? null) === organizationId)
        throw conflict(`${email} is already a member`);
      await lockInvitations(tx, organizationId);
      await assertCanInvite(tx, admin, email);
      const organization =
        organizationId === null ? null : await em.findOneOrFail(Organization, { id: organizationId });
      const invitation = em.create(Invitation, {
        id: newUuid(),
        organization,
        email,
        role,
        invitedBy: await actorDisplayName(em, admin.actor),
        invitedAt: new Date(clock.now()),
      });
      em.persist(invitation);
      return await this.#send(tx, admin, invitation, "member.invited");
    });
  }

  /** Mails a new link and invalidates the previous one. Operators can resend the invitations of all organisations. */
  async resend(admin: MemberAdmin, typedId: string): Promise<Invitation> {
    const { clock, database, throttle } = this.#context;
    const id = fromTypedId("inv", typedId);
    const visible = admin.organizationId === null ? database.em() : forTenant(database.em(), admin);
    const invitation = await visible.findOne(Invitation, { id }, { populate: ["organization"] });
    if (!invitation) throw invitationNotFound();
    const group = { organizationId: invitation.organization?.id ?? null };
    await throttle.take(...throttleAttemptsOf(group, invitation.email));
    return await database.transactional(async (em, tx) => {
      invitation.invitedAt = new Date(clock.now());
      const { invitedAt } = invitation;
      // Locks the invitation before its link, as accepting it does, to avoid deadlocks.
      if ((await em.nativeUpdate(Invitation, { id: invitation.id }, { invitedAt })) === 0)
        throw invitationNotFound();
      return await this.#send(tx, admin, invitation, "invitation.resent");
    });
  }

  /** Invalidates the link. */
  async revoke(admin: MemberAdmin, typedId: string): Promise<void> {
    await this.#context.database.transactional(async (_em, tx) => {
      const revoked = await revokeInvitations(tx, admin, { id: fromTypedId("inv", typedId) });
      if (revoked.length === 0) throw invitationNotFound();
    });
  }

  /**
   * Mails the link of an invitation whose organisation is loaded. An e-mail address with an account elsewhere gets another mail,
   * and the admin the same result.
   */
  async #send(
    tx: Transaction,
    admin: MemberAdmin,
    invitation: Invitation,
    action: string,
  ): Promise<Invitation> {
    const { url } = await issueInvitationLink(tx, this.#context, invitation, { ...admin, action });
    const compose = (await hasAccount(tx.em(), invitation.email))
      ? existingAccountInvitationMail
      : invitationMail;
    await this.#context.mails.enqueue(tx, compose(invitation, url));
    return invitation;
  }
}

/**
 * Invites an operator without a mail. Returns the page for choosing a name and a password, which works once and can't be read
 * again later. Inviting the same e-mail address again returns a new link and invalidates the previous one. Throws
 * BadRequestException for an invalid e-mail address, ConflictException if it has an account.
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

/** Issues a link, which invalidates the previous one, and records the event in the audit log. */
async function issueInvitationLink(
  tx: Reader,
  context: Pick<AccountContext, "clock" | "pageUrl">,
  invitation: Invitation,
  event: Pick<AuditEvent, "action" | "actor" | "ipAddress" | "requestId">,
): Promise<{ url: string; expiresAt: Date }> {
  const { id: subjectId, email, role, organization } = invitation;
  const link = await issueEmailLink(tx, context, { kind: "invitation", subjectId, email });
  invitation.expiresAt = link.expiresAt;
  await recordAuditEvent(tx, {
    ...event,
    organizationId: organization?.id ?? null,
    subject: toTypedId("inv", subjectId),
    details: { email, role },
  });
  return link;
}

/**
 * Revokes the invitations of `admin`'s group that match `where`, in the caller's transaction, with their links and audit
 * entries. Returns their uuids.
 */
export async function revokeInvitations(
  tx: Reader,
  admin: MemberAdmin,
  where: FilterQuery<Invitation>,
): Promise<string[]> {
  const em = forTenant(tx.em(), admin);
  const revoked = await em.find(Invitation, where, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const ids = revoked.map(({ id }) => id);
  if (ids.length > 0) await revokeEmailTokens(tx, "invitation", ...ids);
  for (const { id, email } of revoked) {
    const subject = toTypedId("inv", id);
    await recordAuditEvent(em, { action: "invitation.revoked", subject, details: { email }, ...admin });
  }
  em.remove(revoked);
  return ids;
}

/** Locks a group's invitations until the transaction ends, so that the limit and the e-mail addresses can be checked. */
function lockInvitations(tx: Transaction, organizationId: string | null): Promise<void> {
  return lockForTransaction(tx, `invitations of ${organizationId ?? "operators"}`);
}

/** Throws ConflictException if the e-mail address is invited, or if too many invitations are pending. */
async function assertCanInvite(tx: Transaction, group: MemberGroup, email: string): Promise<void> {
  const pending = await forTenant(tx.em(), group).find(Invitation, {});
  if (pending.length >= MAX_PENDING_INVITATIONS)
    throw conflict(`At most ${MAX_PENDING_INVITATIONS} invitations can be pending; revoke one first`, {
      limit: MAX_PENDING_INVITATIONS,
    });
  if (pending.some((invitation) => invitation.email === email))
    throw conflict(`${email} is already invited; resend that invitation instead`);
}

/** Buckets per group, so that a limit doesn't reveal that other organisations invited the same e-mail address. */
function throttleAttemptsOf({ organizationId }: MemberGroup, email: string): ThrottleAttempt[] {
  const group = organizationId ?? "operators";
  return [
    ["invitation-group", group],
    ["invitation-account", `${group} ${email}`],
  ];
}

function invitationNotFound(): AppError {
  return new AppError("NotFoundException", "There is no such invitation");
}

function conflict(message: string, details?: object): AppError {
  return new AppError("ConflictException", message, { details });
}

/** Its organisation must be loaded. */
type Invited = Pick<Invitation, "email" | "invitedBy" | "organization">;

const groupNameOf = ({ organization }: Invited): string => organization?.name ?? "the Waymark operators";

function invitationMail(invitation: Invited, url: string): NewMail {
  const { email, invitedBy } = invitation;
  const groupName = groupNameOf(invitation);
  return composeMail(email, "invitation", {
    subject: `${invitedBy} has invited you to join ${groupName}`,
    title: `Join ${groupName}`,
    paragraphs: [
      `${invitedBy} has invited you to join ${groupName}. Waymark is a service for following and updating delivery jobs.`,
      "To accept, open the link and follow the steps. The link works once and expires after 72 hours. If it has expired, ask the person who invited you to send it again.",
    ],
    action: { label: "Accept the invitation", url },
    footnote: "If you weren't expecting this, you can ignore it. Nothing happens unless you use the link.",
  });
}

/** The inviting organisation doesn't learn that the e-mail address already has an account; only its owner gets this mail. */
function existingAccountInvitationMail(invitation: Invited): NewMail {
  const { email, invitedBy } = invitation;
  const groupName = groupNameOf(invitation);
  return composeMail(email, "invitation_elsewhere", {
    subject: `${invitedBy} has invited you to join ${groupName}`,
    title: `You have been invited to join ${groupName}`,
    paragraphs: [
      `${invitedBy} has invited you to join ${groupName}. You can't accept with this e-mail address, because it already has a Waymark account and can have only one.`,
      `To join ${groupName} as well, ask ${invitedBy} to invite you at a different e-mail address. To move there instead, have your present account removed first, then ask for a new invitation.`,
    ],
    footnote: "If you weren't expecting this, you can ignore it. Your account hasn't changed.",
  });
}
