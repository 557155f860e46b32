/** Lists and removes members of an organisation, or operators, and changes roles. The last owner or operator always stays. */
import { LockMode, raw, type EntityManager } from "@mikro-orm/postgresql";
import { type ApiKey, changeKeys } from "../../api-keys/api.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { AppError } from "../../core/errors.ts";
import { fromTypedId, toTypedId } from "../../core/ids.ts";
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import { forTenant, User, type UserRole } from "../../organizations/api.ts";
import type { AccountContext } from "../context.ts";
import { revokeEmailTokens } from "../email-token.service.ts";
import { revokeInvitations } from "../invitations/service.ts";
import { resetTwoFactor } from "../recovery.ts";
import { assertRoleInGroup, type MemberAdmin, type MemberGroup } from "./member-admin.ts";

const MAX_LISTED_MEMBERS = 1_000;

/**
 * `id`: typed. A user of another group throws NotFoundException, as if they didn't exist. The caller must check that the
 * principal may manage members.
 */
export class MemberService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /** Ordered by name; at most 1,000. */
  list(group: MemberGroup, on: Reader = this.#context.database): Promise<User[]> {
    const orderBy = [{ [raw((alias) => `lower(${alias}.name)`)]: "asc" as const }, { id: "asc" as const }];
    return forTenant(on.em(), group).find(User, {}, { orderBy, limit: MAX_LISTED_MEMBERS });
  }

  /** The users of `ids` (uuids) that belong to the group, in no particular order. Operators get the users of every group. */
  async getMany(
    { organizationId }: MemberGroup,
    ids: readonly string[],
    on: Reader = this.#context.database,
  ): Promise<User[]> {
    const filters = organizationId === null ? false : { tenant: { organizationId } };
    return await on.em().find(User, { id: { $in: [...ids] } }, { filters });
  }

  /**
   * Deletes the user and their sessions, and on request revokes the group's keys that they created, with the keys created with
   * those, and the invitations that they sent. Returns the keys, and the uuids of the invitations. Throws ConflictException for
   * the last owner or operator.
   */
  async remove(
    admin: MemberAdmin,
    id: string,
    options: { readonly revokeKeys: boolean; readonly revokeInvitations: boolean },
  ): Promise<{ keys: readonly ApiKey[]; invitationIds: readonly string[] }> {
    // Takes the access lock first, so that the member can't create a key that the revocation misses.
    return await changeKeys(this.#context, async (apiKeys) => {
      const { tx } = apiKeys;
      const em = forTenant(tx.em(), admin);
      const { user, isLast } = await lockMember(em, admin, id);
      if (isLast) throw lastAdminError(user.role, "removed");
      const subject = toTypedId("usr", user.id);
      await revokeEmailTokens(tx, "password_reset", user.id);
      const details = { email: user.email, role: user.role };
      await recordAuditEvent(em, { action: "member.removed", subject, details, ...admin });
      await em.remove(user).flush();
      const keys = options.revokeKeys
        ? await apiKeys.revoke(await apiKeys.createdBy(subject, admin.organizationId), admin)
        : [];
      const invitationIds = options.revokeInvitations
        ? await revokeInvitations(tx, admin, { invitedBy: user.email })
        : [];
      return { keys, invitationIds };
    });
  }

  /** Throws BadRequestException for a role that the group doesn't have, and ConflictException for the last owner. */
  setRole(admin: MemberAdmin, id: string, role: UserRole): Promise<User> {
    return this.#context.database.transactional(async (em) => {
      const { user, isLast } = await lockMember(forTenant(em, admin), admin, id);
      assertRoleInGroup(role, admin);
      if (role === user.role) return user;
      if (isLast) throw lastAdminError(user.role, "given another role");
      await recordAuditEvent(em, {
        action: "member.role_changed",
        subject: toTypedId("usr", user.id),
        details: { email: user.email, from: user.role, to: role },
        ...admin,
      });
      return em.assign(user, { role, updatedAt: new Date() });
    });
  }

  /**
   * For operators, of a member of any organisation. Only the command line resets operators, so that a stolen session of one can't
   * weaken the others. Throws ConflictException if two-factor authentication is off.
   */
  async resetTwoFactor(operator: AuditContext, id: string): Promise<User> {
    const where = { id: fromTypedId("usr", id), organization: { $ne: null } };
    const find = () => this.#context.database.em().findOne(User, where, { filters: false });
    const member = await find();
    if (!member) throw new AppError("NotFoundException", "There is no such member");
    await resetTwoFactor(this.#context, operator, member.email);
    return (await find()) ?? member;
  }
}

/**
 * Locks the group's owners or operators in id order until the transaction ends, so that concurrent changes run one after
 * the other, and the user. `isLast`: the user is the only owner or operator.
 */
async function lockMember(
  em: EntityManager,
  { actor }: MemberAdmin,
  typedId: string,
): Promise<{ user: User; isLast: boolean }> {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const admins = await em.find(
    User,
    { role: { $in: ["owner", "operator"] } },
    { orderBy: { id: "asc" }, lockMode },
  );
  // If two owners remove each other concurrently, the second is no longer an owner.
  if (actor.type === "user" && !admins.some(({ id }) => id === actor.id))
    throw new AppError("ForbiddenException", "You may no longer manage members");
  const id = fromTypedId("usr", typedId);
  const user = admins.find((admin) => admin.id === id) ?? (await em.findOne(User, { id }, { lockMode }));
  if (!user) throw new AppError("NotFoundException", "There is no such member");
  return { user, isLast: admins.length === 1 && admins[0] === user };
}

/** Returns the numbers of members by organisation (uuids). Organisations without members are missing from the map. */
export async function countMembersByOrganization(
  reader: Reader,
  organizationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const members = reader
    .em()
    .createQueryBuilder(User, "member")
    .select(["organization", raw("count(*)::int as count")])
    .where({ organization: { $in: [...organizationIds] } })
    .groupBy("organization");
  const rows = await members.execute<{ organization: string; count: number }[]>("all");
  return new Map(rows.map(({ organization, count }) => [organization, count]));
}

function lastAdminError(role: UserRole, attemptedChange: string): AppError {
  return new AppError(
    "ConflictException",
    role === "operator"
      ? `The last operator cannot be ${attemptedChange}. Invite another operator first.`
      : `The last owner cannot be ${attemptedChange}. Make someone else an owner first.`,
  );
}
