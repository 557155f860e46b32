/** Invitations to an organisation or to the operators: lists, sends, resends and revokes them. */
import { LockMode, type FilterQuery } from "@mikro-orm/postgresql";
import type { Reader } from "../../core/postgres/database.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { AppError } from "../../core/errors.ts";
import { fromTypedId, newUuid, toTypedId } from "../../core/ids.ts";
import { lockForTransaction } from "../../core/postgres/transaction-lock.ts";
import { actorDisplayName, recordAuditEvent } from "../../audit/api.ts";
import { forTenant, Organization, User, type UserRole } from "../../organizations/api.ts";
import type { ThrottleAttempt } from "../auth/throttle.ts";
import type { AccountContext } from "../context.ts";
import { revokeEmailTokens } from "../email-token.service.ts";
import { assertRoleInGroup, type MemberAdmin, type MemberGroup } from "../members/member-admin.ts";
import { hasAccount } from "../user.service.ts";
import { Invitation } from "./entity.ts";
import { invitationMail, existingAccountInvitationMail } from "./mails.ts";

const MAX_PENDING_INVITATIONS = 100;

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
  list({ organizationId }: MemberGroup, on: Reader = this.#context.database): Promise<Invitation[]> {
    const filters = { tenant: { organizationId } };
    const orderBy = { invitedAt: "desc", id: "desc" } as const;
    return on.em().find(Invitation, {}, { filters, orderBy, limit: MAX_PENDING_INVITATIONS });
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
      return await this.#send(tx, {
        admin,
        invitation,
        isRegistered: account !== null,
        action: "member.invited",
      });
    });
  }

  /** Mails a new link and invalidates the previous one. */
  async resend(admin: MemberAdmin, typedId: string): Promise<Invitation> {
    const { clock, database, throttle } = this.#context;
    const id = fromTypedId("inv", typedId);
    const invitation = await forTenant(database.em(), admin).findOne(
      Invitation,
      { id },
      { populate: ["organization"] },
    );
    if (!invitation) throw invitationNotFound();
    await throttle.take(...throttleAttemptsOf(admin, invitation.email));
    return await database.transactional(async (em, tx) => {
      invitation.invitedAt = new Date(clock.now());
      const { email, invitedAt } = invitation;
      // Locks the invitation before its link, as accepting it does, to avoid deadlocks.
      if ((await em.nativeUpdate(Invitation, { id: invitation.id }, { invitedAt })) === 0)
        throw invitationNotFound();
      const isRegistered = await hasAccount(em, email);
      return await this.#send(tx, { admin, invitation, isRegistered, action: "invitation.resent" });
    });
  }

  /** Invalidates the link. */
  async revoke(admin: MemberAdmin, typedId: string): Promise<void> {
    await this.#context.database.transactional(async (_em, tx) => {
      const revoked = await revokeInvitations(tx, admin, { id: fromTypedId("inv", typedId) });
      if (revoked.length === 0) throw invitationNotFound();
    });
  }

  /** Issues the link and enqueues the mail. An e-mail address with an account elsewhere gets a different mail, same result. */
  async #send(
    tx: Transaction,
    { admin, invitation, isRegistered, action }: SentInvitation,
  ): Promise<Invitation> {
    const { emailTokens, mails, pageUrl } = this.#context;
    const { id, email, invitedBy, organization } = invitation;
    const { token, expiresAt } = await emailTokens.issue(tx, { kind: "invitation", subjectId: id, email });
    invitation.expiresAt = expiresAt;
    const mail = { email, invitedBy, organizationName: organization?.name ?? null };
    await mails.enqueue(
      tx,
      isRegistered
        ? existingAccountInvitationMail(mail)
        : invitationMail(mail, pageUrl(`/invitation#token=${token}`)),
    );
    await recordAuditEvent(tx, { action, subject: toTypedId("inv", id), details: { email }, ...admin });
    return invitation;
  }
}

interface SentInvitation {
  admin: MemberAdmin;
  /** Its organisation must be loaded. */
  invitation: Invitation;
  /** True if the e-mail address has an account in another organisation. */
  isRegistered: boolean;
  action: "member.invited" | "invitation.resent";
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
export function lockInvitations(tx: Transaction, organizationId: string | null): Promise<void> {
  return lockForTransaction(tx, `invitations of ${organizationId ?? "operators"}`);
}

/** Throws ConflictException if the e-mail address is invited, or if too many invitations are pending. */
async function assertCanInvite(
  tx: Transaction,
  { organizationId }: MemberGroup,
  email: string,
): Promise<void> {
  const pending = await tx.em().find(Invitation, {}, { filters: { tenant: { organizationId } } });
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
