/** Invitations: how people come to an organisation, or to the operators, by the word of somebody who is there already. */
import type { MailService } from "../mail/mail.service.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable, Transaction } from "../platform/database.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import { requireFreshAuthentication } from "../platform/fresh-authentication.ts";
import { fromTypedId, newUuid, toTypedId } from "../platform/ids.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { lockUntilEnd } from "../platform/transaction-lock.ts";
import { toIsoTime } from "../platform/time.ts";
import { accountEmail, checked } from "./account.fields.ts";
import { nameOfActor, record } from "./audit.service.ts";
import type { InvitedRole } from "./invitation.entity.ts";
import { invitationMail, invitedElsewhereMail } from "./invitation.mails.ts";
import { revokeInvitations } from "./invitation.revocation.ts";
import { REGISTRATION_MS, type LinkService } from "./link.service.ts";
import type { Group, Manager } from "./member.service.ts";
import type { Throttle, Try } from "./throttle.ts";

export interface InvitationView {
  /** A uuid. */
  readonly id: string;
  readonly email: string;
  readonly role: InvitedRole;
  readonly invitedBy: string;
  readonly invitedAt: string;
  readonly expiresAt: string;
}

/**
 * `id`: typed. An invitation of another organisation is answered as one that is not there: NotFoundException. Whether the
 * caller may invite is the caller's to know. Nothing tells whether an address has an account elsewhere.
 */
export interface InvitationService {
  /** Those that wait, the newest first; also those whose link has ended. */
  list(group: Group, on?: Queryable): Promise<InvitationView[]>;
  /**
   * Throws BadRequestException for what is no address or no role of the group, ConflictException where the person is a
   * member or invited already, or there are too many. Inviting an owner or an operator needs a fresh authentication:
   * ReauthenticationRequiredError.
   */
  invite(manager: Manager, invitation: { email: string; role: InvitedRole }): Promise<InvitationView>;
  /** The former link ends. */
  resend(manager: Manager, id: string): Promise<InvitationView>;
  /** Its link ends. */
  revoke(manager: Manager, id: string): Promise<void>;
}

export interface InvitationParts {
  database: Database;
  clock: Clock;
  links: LinkService;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  /** An address of the console. */
  pageUrl: (path: string) => string;
}

const MAX_INVITATIONS = 100;

export function createInvitationService(parts: InvitationParts): InvitationService {
  const { database, links } = parts;
  return {
    list: (group, on = database) => invitationsWhere(on, isOf(group)),

    async invite(manager, { email: given, role }) {
      const email = checked(accountEmail, given, "email");
      if ((role === "operator") !== (manager.organizationId === null)) throw foreignRole(manager);
      if (role !== "member") requireFreshAuthentication(manager, parts.clock.now());
      await parts.throttle.take(...triesOf(manager, email));
      return await database.transaction(async (tx) => {
        const id = await insert(parts, tx, { manager, email, role });
        return await send(parts, tx, { manager, id, what: "invited" });
      });
    },

    async resend(manager, typedId) {
      const id = uuidOf(typedId);
      const [known] = await invitationsWhere(database, sql`invitation.id = ${id} and ${isOf(manager)}`);
      if (!known) throw unknownInvitation();
      await parts.throttle.take(...triesOf(manager, known.email));
      return await database.transaction((tx) => send(parts, tx, { manager, id, what: "resent" }));
    },

    revoke: (manager, typedId) =>
      database.transaction(async (tx) => {
        const id = uuidOf(typedId);
        const revoked = await revokeInvitations(tx, links, manager, sql`id = ${id}`);
        if (revoked.length === 0) throw unknownInvitation();
      }),
  };
}

/** The group's own: what others have sent to the address nobody here may find out. */
function triesOf({ organizationId }: Group, email: string): Try[] {
  const group = organizationId ?? "operators";
  return [
    ["invitation-group", group],
    ["invitation-account", `${group} ${email}`],
  ];
}

/** Answers with its uuid. */
async function insert(
  { clock }: InvitationParts,
  tx: Transaction,
  { manager, email, role }: { manager: Manager; email: string; role: InvitedRole },
): Promise<string> {
  const group = sql`organization_id is not distinct from ${manager.organizationId}::uuid`;
  if ((await tx.query(sql`select from user_account where email = ${email} and ${group}`)).length > 0)
    throw new AppError("ConflictException", `${email} is a member already`);
  await lockUntilEnd(tx, `invitations of ${manager.organizationId ?? "operators"}`);
  const [waiting] = await tx.query<{ count: number }>(
    sql`select count(*)::int as count from invitation where ${group}`,
  );
  if ((waiting?.count ?? 0) >= MAX_INVITATIONS) {
    throw new AppError(
      "ConflictException",
      `At most ${MAX_INVITATIONS} invitations may wait; revoke one first`,
      {
        details: { limit: MAX_INVITATIONS },
      },
    );
  }
  const invitedBy = await nameOfActor(tx, manager.actor);
  const [row] = await tx.query<{ id: string }>(sql`
    insert into invitation (id, organization_id, email, role, invited_by, invited_at)
    values (${newUuid()}, ${manager.organizationId}::uuid, ${email}, ${role}, ${invitedBy},
      ${new Date(clock.now()).toISOString()}::timestamptz)
    on conflict do nothing returning id`);
  if (row) return row.id;
  throw new AppError("ConflictException", `${email} is invited already; the invitation can be sent again`);
}

/** Issues the link and writes the mail. The same is done for an address that has an account elsewhere: only the mail tells. */
async function send(
  { clock, links, mails, pageUrl }: InvitationParts,
  tx: Transaction,
  { manager, id, what }: { manager: Manager; id: string; what: "invited" | "resent" },
): Promise<InvitationView> {
  const [invited] = await tx.query<{
    email: string;
    invitedBy: string;
    organizationName: string | null;
    isKnown: boolean;
  }>(sql`
    update invitation set invited_at = ${new Date(clock.now()).toISOString()}::timestamptz
    where id = ${id} and ${isOf(manager)}
    returning email, invited_by as "invitedBy",
      (select name from organization where organization.id = organization_id) as "organizationName",
      exists (select from user_account where user_account.email = invitation.email) as "isKnown"`);
  if (!invited) throw unknownInvitation();
  const { email } = invited;
  const token = await links.issue(tx, {
    kind: "invitation",
    subjectId: id,
    email,
    lifetimeMs: REGISTRATION_MS,
  });
  const url = pageUrl(`/invitation#token=${token}`);
  await mails.enqueue(tx, invited.isKnown ? invitedElsewhereMail(invited) : invitationMail(invited, url));
  await recordInvitation(tx, manager, { what, id, email });
  const [view] = await invitationsWhere(tx, sql`invitation.id = ${id}`);
  return view as InvitationView;
}

function recordInvitation(
  tx: Transaction,
  manager: Manager,
  { what, id, email }: { what: string; id: string; email: string },
): Promise<void> {
  const action = what === "invited" ? "member.invited" : `invitation.${what}`;
  return record(tx, { action, subject: toTypedId("inv", id), details: { email }, ...manager });
}

function isOf({ organizationId }: Group): Sql {
  return sql`invitation.organization_id is not distinct from ${organizationId}::uuid`;
}

async function invitationsWhere(on: Queryable, condition: Sql): Promise<InvitationView[]> {
  const rows = await on.query<InvitationRow>(sql`
    select invitation.id, invitation.email, invitation.role, invitation.invited_by, invitation.invited_at, link.expires_at
    from invitation join account_link link on link.kind = 'invitation' and link.subject_id = invitation.id
    where ${condition} order by invitation.invited_at desc, invitation.id desc limit ${MAX_INVITATIONS}::int`);
  return rows.map((row) => ({
    id: row.id,
    email: row.email,
    role: row.role,
    invitedBy: row.invited_by,
    invitedAt: toIsoTime(row.invited_at),
    expiresAt: toIsoTime(row.expires_at),
  }));
}

interface InvitationRow {
  id: string;
  email: string;
  role: InvitedRole;
  invited_by: string;
  invited_at: string;
  expires_at: string;
}

/** A text that is no id of an invitation is one of an invitation that is not there. */
function uuidOf(typedId: string): string {
  const id = fromTypedId("inv", typedId);
  if (id === null) throw unknownInvitation();
  return id;
}

function unknownInvitation(): AppError {
  return new AppError("NotFoundException", "There is no such invitation");
}

function foreignRole({ organizationId }: Group): AppError {
  const message = organizationId === null ? "must be OPERATOR" : "must be OWNER or MEMBER";
  return badRequest([{ location: "body", field: "role", code: "invalid_value", message }]);
}
