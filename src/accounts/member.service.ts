/** The people of an organisation, or the operators: listed, removed, made owners. There is always one who can do that. */
import type { ApiKey } from "../api-keys/api-key.entity.ts";
import { changeWithKeys } from "../api-keys/api-key.revocation.service.ts";
import type { Database, Queryable, Transaction } from "../platform/database.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import { queriesOf } from "../platform/em-queries.ts";
import { fromTypedId, toTypedId } from "../platform/ids.ts";
import { requireFreshAuthentication, type Authenticated } from "../platform/fresh-authentication.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { toIsoTime } from "../platform/time.ts";
import type { KeepAccessAct } from "./access-notices.service.ts";
import { record, type ActContext } from "./audit.service.ts";
import { revokeInvitations } from "./invitation.revocation.ts";
import type { LinkService } from "./link.service.ts";
import type { UserRole } from "./user.entity.ts";

export interface MemberView {
  /** A uuid. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly createdAt: string;
  readonly lastSeenAt: string | null;
  readonly hasSecondFactor: boolean;
}

/** Of whose members it is: an organisation's (a uuid), or with null the operators. */
export interface Group {
  readonly organizationId: string | null;
}

/** Who changes them. */
export type Manager = ActContext & Authenticated & Group;

/**
 * `id`: typed. A person of another organisation is answered as one that is not there: NotFoundException. Whether the
 * caller may manage members is the caller's to know.
 */
export interface MemberService {
  /** By name; at most 1000. */
  list(group: Group, on?: Queryable): Promise<MemberView[]>;
  /** Those of `ids` (uuids) that are of the group, in no particular order; operators see everybody. */
  byIds(group: Group, ids: readonly string[], on?: Queryable): Promise<MemberView[]>;
  /**
   * Ends their sessions, and revokes in the same transaction what `options` name. Throws ConflictException for the last
   * owner, or operator.
   */
  remove(manager: Manager, id: string, options: RemovalOptions): Promise<Removal>;
  /**
   * Throws BadRequestException for a role that is not of the group, ConflictException for the last owner.
   * Making an owner needs a fresh authentication: ReauthenticationRequiredError.
   */
  setRole(manager: Manager, id: string, role: UserRole): Promise<MemberView>;
}

export interface RemovalOptions {
  /** The group's keys that the member created, and those that these created. */
  readonly revokeKeys: boolean;
  /** The group's pending invitations that the member sent. */
  readonly revokeInvitations: boolean;
}

/** The keys and invitations that were revoked with a member. */
export interface Removal {
  readonly keys: readonly ApiKey[];
  /** Uuids. */
  readonly invitationIds: readonly string[];
}

const MAX_LISTED = 1_000;

interface Parts {
  database: Database;
  clock: Clock;
  links: Pick<LinkService, "end">;
  /** Absent: no revoked key is recorded. */
  keepAct?: KeepAccessAct | undefined;
}

export function createMemberService(parts: Parts): MemberService {
  const { database, clock } = parts;
  return {
    list: (group, on = database) =>
      membersWhere(on, sql`${isOf(group)} order by lower(person.name), person.id limit ${MAX_LISTED}::int`),

    async byIds(group, ids, on = database) {
      const visible = group.organizationId === null ? sql`true` : isOf(group);
      return ids.length === 0
        ? []
        : membersWhere(on, sql`person.id = any(${[...ids]}::uuid[]) and ${visible}`);
    },

    remove: (manager, id, options) => remove(parts, manager, { id, ...options }),

    setRole: (manager, id, role) =>
      database.transaction(async (tx) => {
        const person = await hold(tx, manager, id);
        if ((role === "operator") !== (manager.organizationId === null)) throw foreignRole(manager);
        if (role === "owner" && person.role !== role) requireFreshAuthentication(manager, clock.now());
        if (role !== person.role) await changeRole(tx, manager, { person, role });
        const [member] = await membersWhere(tx, sql`person.id = ${person.id}`);
        return member as MemberView;
      }),
  };
}

/** Holds the access lock from the start, so no key that the member creates meanwhile is missed. */
function remove(
  parts: Parts,
  manager: Manager,
  { id, ...options }: RemovalOptions & { id: string },
): Promise<Removal> {
  const { links } = parts;
  return changeWithKeys(parts, async (em, revokeKeysOf) => {
    const tx = queriesOf(em);
    const person = await hold(tx, manager, id);
    if (person.isLast) throw lastOne(person.role, "removed");
    const subject = toTypedId("usr", person.id);
    await links.end(tx, { kind: "password_reset", subjectId: person.id });
    await tx.query(sql`delete from user_account where id = ${person.id}`);
    const details = { email: person.email, role: person.role };
    await record(tx, { action: "member.removed", subject, details, ...manager });
    const { organizationId } = manager;
    const keys = options.revokeKeys ? await revokeKeysOf({ organizationId, creator: subject }, manager) : [];
    const invitationIds = options.revokeInvitations
      ? await revokeInvitations(tx, links, manager, sql`invited_by = ${person.email}`)
      : [];
    return { keys, invitationIds };
  });
}

async function changeRole(
  tx: Transaction,
  manager: Manager,
  { person, role }: { person: Held; role: UserRole },
): Promise<void> {
  if (person.isLast) throw lastOne(person.role, "made a member");
  await tx.query(sql`update user_account set role = ${role}, updated_at = now() where id = ${person.id}`);
  await record(tx, {
    action: "member.role_changed",
    subject: toTypedId("usr", person.id),
    details: { email: person.email, from: person.role, to: role },
    ...manager,
  });
}

/** A member whose group is locked until the transaction ends. */
interface Held {
  id: string;
  email: string;
  role: UserRole;
  /** Without them nobody could manage the group. */
  isLast: boolean;
}

/** Locks whoever manages the group, in one order, so that of two who act at once the second sees what the first has done. */
async function hold(tx: Queryable, group: Manager, typedId: string): Promise<Held> {
  const managers = await tx.query<{ id: string }>(sql`
    select id from user_account person where ${isOf(group)} and role <> 'member' order by id for update`);
  // Of two owners who remove each other at once the second is none any more.
  if (group.actor.type === "user" && !managers.some(({ id }) => id === group.actor.id))
    throw new AppError("ForbiddenException", "You may not manage members any more");
  const id = fromTypedId("usr", typedId);
  const [person] = await tx.query<Omit<Held, "isLast">>(sql`
    select id, email, role from user_account person where id = ${id}::uuid and ${isOf(group)} for update`);
  if (!person) throw new AppError("NotFoundException", "There is no such member");
  return { ...person, isLast: managers.length === 1 && managers[0]?.id === person.id };
}

function isOf({ organizationId }: Group): Sql {
  return organizationId === null
    ? sql`person.organization_id is null`
    : sql`person.organization_id = ${organizationId}::uuid`;
}

async function membersWhere(on: Queryable, condition: Sql): Promise<MemberView[]> {
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
    hasSecondFactor: row.two_factor_enabled,
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

function lastOne(role: UserRole, what: string): AppError {
  return new AppError(
    "ConflictException",
    role === "operator"
      ? `The last operator cannot be ${what}. Invite another first.`
      : `The last owner cannot be ${what}. Make somebody else an owner first.`,
  );
}

function foreignRole({ organizationId }: Group): AppError {
  const message = organizationId === null ? "must be OPERATOR" : "must be OWNER or MEMBER";
  return badRequest([{ location: "body", field: "role", code: "invalid_value", message }]);
}
