/** The people of an organisation, or the operators: listed, removed, made owners. There is always one who can do that. */
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

/** Of whose members it is: an organisation's (a uuid), or with null the operators. */
export interface MemberGroup {
  readonly organizationId: string | null;
}

/** Who changes them. */
export type MemberAdmin = AuditContext & AuthenticatedActor & MemberGroup;

/**
 * `id`: typed. A person of another organisation is answered as one that is not there: NotFoundException. Whether the
 * caller may manage members is the caller's to know.
 */
export interface MemberService {
  /** By name; at most 1000. */
  list(group: MemberGroup, on?: Queryable): Promise<MemberView[]>;
  /** Those of `ids` (uuids) that are of the group, in no particular order; operators see everybody. */
  getMany(group: MemberGroup, ids: readonly string[], on?: Queryable): Promise<MemberView[]>;
  /**
   * Ends their sessions, and revokes in the same transaction what `options` name. Throws ConflictException for the last
   * owner, or operator.
   */
  remove(manager: MemberAdmin, id: string, options: RemovalOptions): Promise<MemberRemoval>;
  /**
   * Throws BadRequestException for a role that is not of the group, ConflictException for the last owner.
   * Making an owner needs a fresh authentication: ReauthenticationRequiredError.
   */
  setRole(manager: MemberAdmin, id: string, role: UserRole): Promise<MemberView>;
}

export interface RemovalOptions {
  /** The group's keys that the member created, and those that these created. */
  readonly revokeKeys: boolean;
  /** The group's pending invitations that the member sent. */
  readonly revokeInvitations: boolean;
}

/** The keys and invitations that were revoked with a member. */
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
  /** Absent: no revoked key is recorded. */
  recordAccessChange?: RecordAccessChange | undefined;
}

export function createMemberService(deps: MemberDeps): MemberService {
  const { database, clock } = deps;
  return {
    list: (group, on = database) =>
      findMembers(
        on,
        sql`${inGroup(group)} order by lower(person.name), person.id limit ${MAX_LISTED_MEMBERS}::int`,
      ),

    async getMany(group, ids, on = database) {
      const visible = group.organizationId === null ? sql`true` : inGroup(group);
      return ids.length === 0
        ? []
        : findMembers(on, sql`person.id = any(${[...ids]}::uuid[]) and ${visible}`);
    },

    remove: (admin, id, options) => remove(deps, admin, { id, ...options }),

    setRole: (manager, id, role) =>
      database.transaction(async (tx) => {
        const user = await lockMember(tx, manager, id);
        if ((role === "operator") !== (manager.organizationId === null)) throw invalidRoleError(manager);
        if (role === "owner" && user.role !== role) requireFreshAuthentication(manager, clock.now());
        if (role !== user.role) await changeRole(tx, manager, { person: user, role });
        const [member] = await findMembers(tx, sql`person.id = ${user.id}`);
        return member as MemberView;
      }),
  };
}

/** Holds the access lock from the start, so no key that the member creates meanwhile is missed. */
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
  { person: user, role }: { person: LockedMember; role: UserRole },
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

/** A member whose group is locked until the transaction ends. */
interface LockedMember {
  id: string;
  email: string;
  role: UserRole;
  /** Without them nobody could manage the group. */
  isLast: boolean;
}

/** Locks whoever manages the group, in one order, so that of two who act at once the second sees what the first has done. */
async function lockMember(tx: Queryable, group: MemberAdmin, typedId: string): Promise<LockedMember> {
  const admins = await tx.query<{ id: string }>(sql`
    select id from user_account person where ${inGroup(group)} and role <> 'member' order by id for update`);
  // Of two owners who remove each other at once the second is none any more.
  if (group.actor.type === "user" && !admins.some(({ id }) => id === group.actor.id))
    throw new AppError("ForbiddenException", "You may not manage members any more");
  const id = fromTypedId("usr", typedId);
  const [user] = await tx.query<Omit<LockedMember, "isLast">>(sql`
    select id, email, role from user_account person where id = ${id}::uuid and ${inGroup(group)} for update`);
  if (!user) throw new AppError("NotFoundException", "There is no such member");
  return { ...user, isLast: admins.length === 1 && admins[0]?.id === user.id };
}

function inGroup({ organizationId }: MemberGroup): Sql {
  return organizationId === null
    ? sql`person.organization_id is null`
    : sql`person.organization_id = ${organizationId}::uuid`;
}

async function findMembers(on: Queryable, condition: Sql): Promise<MemberView[]> {
  const rows = await on.query<MemberRow>(sql`
    select person.id, person.name, person.email, person.role, person.created_at, person.last_seen_at,
      person.two_factor_enabled
    from user_account person where ${condition}`);
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
      ? `The last operator cannot be ${attemptedChange}. Invite another first.`
      : `The last owner cannot be ${attemptedChange}. Make somebody else an owner first.`,
  );
}

function invalidRoleError({ organizationId }: MemberGroup): AppError {
  const message = organizationId === null ? "must be OPERATOR" : "must be OWNER or MEMBER";
  return badRequest([{ location: "body", field: "role", code: "invalid_value", message }]);
}
