/** Lists and removes members of an organisation, or operators, and changes roles. The last owner or operator always stays. */
import { type ApiKey, withKeyRevocation } from "../../api-keys/api.ts";
import type { Database, Queryable, Transaction } from "../../platform/postgres/database.ts";
import type { Clock } from "../../platform/clock.ts";
import { AppError, badRequest } from "../../platform/errors.ts";
import { asQueryable } from "../../platform/postgres/entity-manager-queryable.ts";
import { fromTypedId, toTypedId } from "../../platform/ids.ts";
import { requireFreshAuthentication, type AuthenticatedActor } from "../../platform/fresh-authentication.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { toIsoTime } from "../../platform/time.ts";
import type { RecordAccessChange } from "../../mail/api.ts";
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import { revokeInvitations } from "../invitations/revocation.ts";
import type { EmailTokenService } from "../email-token.service.ts";
import type { UserRole } from "../../organizations/api.ts";

export interface MemberView {
  /** A uuid. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly createdAt: string;
  readonly lastSeenAt: string | null;
  readonly hasTwoFactor: boolean;
}

/** An organisation (a uuid), or null for the operators. */
export interface MemberGroup {
  readonly organizationId: string | null;
}

/** The principal who manages the group's members, for permission checks and the audit log. */
export type MemberAdmin = AuditContext & AuthenticatedActor & MemberGroup;

/**
 * `id`: typed. A user of another group throws NotFoundException, as if they didn't exist. The caller must check that the
 * principal may manage members.
 */
export interface MemberService {
  /** Ordered by name; at most 1,000. */
  list(group: MemberGroup, on?: Queryable): Promise<MemberView[]>;
  /** The users of `ids` (uuids) that belong to the group, in no particular order. Operators get the users of every group. */
  getMany(group: MemberGroup, ids: readonly string[], on?: Queryable): Promise<MemberView[]>;
  /**
   * Deletes the user and their sessions, and revokes keys and invitations as `options` say, in one transaction. Throws
   * ConflictException for the last owner or operator.
   */
  remove(admin: MemberAdmin, id: string, options: RemovalOptions): Promise<MemberRemoval>;
  /**
   * Throws BadRequestException for a role that the group doesn't have, ConflictException for the last owner, and
   * ReauthenticationRequiredError for making someone an owner without a fresh authentication.
   */
  setRole(admin: MemberAdmin, id: string, role: UserRole): Promise<MemberView>;
}

export interface RemovalOptions {
  /** Revoke the group's keys that the member created, and the keys created with those. */
  readonly revokeKeys: boolean;
  /** Revoke the group's pending invitations that the member sent. */
  readonly revokeInvitations: boolean;
}

/** The revoked keys and invitations. */
export interface MemberRemoval {
  readonly keys: readonly ApiKey[];
  /** Uuids. */
  readonly invitationIds: readonly string[];
}

const MAX_LISTED_MEMBERS = 1_000;

interface MemberDeps {
  database: Database;
  clock: Clock;
  emailTokens: Pick<EmailTokenService, "revoke">;
  /** Absent: revoked keys get no audit entry and no mail. */
  recordAccessChange?: RecordAccessChange | undefined;
}

export function createMemberService(deps: MemberDeps): MemberService {
  const { database, clock } = deps;
  return {
    list: (group, on = database) =>
      findMembers(
        on,
        sql`${inGroup(group)} order by lower(account.name), account.id limit ${MAX_LISTED_MEMBERS}::int`,
      ),

    async getMany(group, ids, on = database) {
      const visible = group.organizationId === null ? sql`true` : inGroup(group);
      return ids.length === 0
        ? []
        : findMembers(on, sql`account.id = any(${[...ids]}::uuid[]) and ${visible}`);
    },

    remove: (admin, id, options) => remove(deps, admin, { id, ...options }),

    setRole: (admin, id, role) =>
      database.transaction(async (tx) => {
        const user = await lockMember(tx, admin, id);
        if ((role === "operator") !== (admin.organizationId === null)) throw invalidRoleError(admin);
        if (role === "owner" && user.role !== role) requireFreshAuthentication(admin, clock.now());
        if (role !== user.role) await changeRole(tx, admin, { user, role });
        const [member] = await findMembers(tx, sql`account.id = ${user.id}`);
        return member as MemberView;
      }),
  };
}

/** Takes the access lock first, so that the member can't create a key that the revocation misses. */
function remove(
  deps: MemberDeps,
  admin: MemberAdmin,
  { id, ...options }: RemovalOptions & { id: string },
): Promise<MemberRemoval> {
  const { emailTokens } = deps;
  return withKeyRevocation(deps, async (em, revokeKeysOf) => {
    const tx = asQueryable(em);
    const user = await lockMember(tx, admin, id);
    if (user.isLast) throw lastAdminError(user.role, "removed");
    const subject = toTypedId("usr", user.id);
    await emailTokens.revoke(tx, { kind: "password_reset", subjectId: user.id });
    await tx.query(sql`delete from user_account where id = ${user.id}`);
    const details = { email: user.email, role: user.role };
    await recordAuditEvent(tx, { action: "member.removed", subject, details, ...admin });
    const { organizationId } = admin;
    const keys = options.revokeKeys ? await revokeKeysOf({ organizationId, creator: subject }, admin) : [];
    const invitationIds = options.revokeInvitations
      ? await revokeInvitations(tx, emailTokens, admin, sql`invited_by = ${user.email}`)
      : [];
    return { keys, invitationIds };
  });
}

async function changeRole(
  tx: Transaction,
  admin: MemberAdmin,
  { user, role }: { user: LockedMember; role: UserRole },
): Promise<void> {
  if (user.isLast) throw lastAdminError(user.role, "made a member");
  await tx.query(sql`update user_account set role = ${role}, updated_at = now() where id = ${user.id}`);
  await recordAuditEvent(tx, {
    action: "member.role_changed",
    subject: toTypedId("usr", user.id),
    details: { email: user.email, from: user.role, to: role },
    ...admin,
  });
}

/** A member whose group's administrators are locked until the transaction ends. */
interface LockedMember {
  id: string;
  email: string;
  role: UserRole;
  /** True for the group's only owner or operator. */
  isLast: boolean;
}

/** Locks the group's owners or operators in id order, so that concurrent changes run one after the other. */
async function lockMember(tx: Queryable, group: MemberAdmin, typedId: string): Promise<LockedMember> {
  const admins = await tx.query<{ id: string }>(sql`
    select id from user_account account where ${inGroup(group)} and role <> 'member' order by id for update`);
  // If two owners remove each other concurrently, the second is no longer an owner.
  if (group.actor.type === "user" && !admins.some(({ id }) => id === group.actor.id))
    throw new AppError("ForbiddenException", "You may no longer manage members");
  const id = fromTypedId("usr", typedId);
  const [user] = await tx.query<Omit<LockedMember, "isLast">>(sql`
    select id, email, role from user_account account where id = ${id}::uuid and ${inGroup(group)} for update`);
  if (!user) throw new AppError("NotFoundException", "There is no such member");
  return { ...user, isLast: admins.length === 1 && admins[0]?.id === user.id };
}

function inGroup({ organizationId }: MemberGroup): Sql {
  return organizationId === null
    ? sql`account.organization_id is null`
    : sql`account.organization_id = ${organizationId}::uuid`;
}

async function findMembers(on: Queryable, condition: Sql): Promise<MemberView[]> {
  const rows = await on.query<MemberRow>(sql`
    select account.id, account.name, account.email, account.role, account.created_at, account.last_seen_at,
      account.two_factor_enabled
    from user_account account where ${condition}`);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    email: row.email,
    role: row.role,
    createdAt: toIsoTime(row.created_at),
    lastSeenAt: row.last_seen_at && toIsoTime(row.last_seen_at),
    hasTwoFactor: row.two_factor_enabled,
  }));
}

interface MemberRow {
  id: string;
  name: string;
  email: string;
  role: UserRole;
  created_at: string;
  last_seen_at: string | null;
  two_factor_enabled: boolean;
}

function lastAdminError(role: UserRole, attemptedChange: string): AppError {
  return new AppError(
    "ConflictException",
    role === "operator"
      ? `The last operator cannot be ${attemptedChange}. Invite another operator first.`
      : `The last owner cannot be ${attemptedChange}. Make someone else an owner first.`,
  );
}

function invalidRoleError({ organizationId }: MemberGroup): AppError {
  const message = organizationId === null ? "must be OPERATOR" : "must be OWNER or MEMBER";
  return badRequest([{ location: "body", field: "role", code: "invalid_value", message }]);
}
