/** Invitations to an organisation or to the operators: lists, sends, resends and revokes them. */
import type { MailService } from "../../mail/api.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable, Transaction } from "../../platform/postgres/database.ts";
import { AppError, badRequest } from "../../platform/errors.ts";
import { requireFreshAuthentication } from "../../platform/fresh-authentication.ts";
import { fromTypedId, newUuid, toTypedId } from "../../platform/ids.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { lockForTransaction } from "../../platform/postgres/transaction-lock.ts";
import { toIsoTime } from "../../platform/time.ts";
import { accountEmail, parseOrThrow } from "../account.fields.ts";
import { actorDisplayName, recordAuditEvent } from "../../audit/api.ts";
import type { InvitedRole } from "./entity.ts";
import { invitationMail, existingAccountInvitationMail } from "./mails.ts";
import { revokeInvitations } from "./revocation.ts";
import { REGISTRATION_LIFETIME_MS, type EmailTokenService } from "../email-token.service.ts";
import type { MemberGroup, MemberAdmin } from "../members/service.ts";
import type { Throttle, ThrottleAttempt } from "../auth/throttle.ts";

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
 * `id`: typed. An invitation of another group throws NotFoundException, as if it didn't exist. The caller must check that
 * the principal may invite. No result reveals whether the e-mail address has an account in another organisation.
 */
export interface InvitationService {
  /** Pending invitations, newest first, including those whose link has expired. */
  list(group: MemberGroup, on?: Queryable): Promise<InvitationView[]>;
  /**
   * Throws BadRequestException for an invalid e-mail address or role, ConflictException if the user is already a member or
   * invited or if 100 invitations are pending, TooManyRequestsException, and ReauthenticationRequiredError for inviting an
   * owner or operator without a fresh authentication.
   */
  invite(admin: MemberAdmin, invitation: { email: string; role: InvitedRole }): Promise<InvitationView>;
  /** Mails a new link and invalidates the previous one. */
  resend(admin: MemberAdmin, id: string): Promise<InvitationView>;
  /** Invalidates the link. */
  revoke(admin: MemberAdmin, id: string): Promise<void>;
}

export interface InvitationDeps {
  database: Database;
  clock: Clock;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  /** Returns the URL of a console page. */
  pageUrl: (path: string) => string;
}

const MAX_PENDING_INVITATIONS = 100;

export function createInvitationService(deps: InvitationDeps): InvitationService {
  const { database, emailTokens } = deps;
  return {
    list: (group, on = database) => findInvitations(on, inGroup(group)),

    async invite(admin, { email: input, role }) {
      const email = parseOrThrow(accountEmail, input, "email");
      if ((role === "operator") !== (admin.organizationId === null)) throw invalidRoleError(admin);
      if (role !== "member") requireFreshAuthentication(admin, deps.clock.now());
      await deps.throttle.take(...throttleAttemptsOf(admin, email));
      return await database.transaction(async (tx) => {
        const id = await insertInvitation(deps, tx, { admin, email, role });
        return await sendInvitation(deps, tx, { admin, id, event: "invited" });
      });
    },

    async resend(admin, typedId) {
      const id = uuidOf(typedId);
      const [invitation] = await findInvitations(database, sql`invitation.id = ${id} and ${inGroup(admin)}`);
      if (!invitation) throw invitationNotFound();
      await deps.throttle.take(...throttleAttemptsOf(admin, invitation.email));
      return await database.transaction((tx) => sendInvitation(deps, tx, { admin, id, event: "resent" }));
    },

    revoke: (admin, typedId) =>
      database.transaction(async (tx) => {
        const id = uuidOf(typedId);
        const revoked = await revokeInvitations(tx, emailTokens, admin, sql`id = ${id}`);
        if (revoked.length === 0) throw invitationNotFound();
      }),
  };
}

/** Buckets per group, so that a limit doesn't reveal that other organisations invited the same e-mail address. */
function throttleAttemptsOf({ organizationId }: MemberGroup, email: string): ThrottleAttempt[] {
  const group = organizationId ?? "operators";
  return [
    ["invitation-group", group],
    ["invitation-account", `${group} ${email}`],
  ];
}

/** Returns the invitation's uuid. */
async function insertInvitation(
  { clock }: InvitationDeps,
  tx: Transaction,
  { admin, email, role }: { admin: MemberAdmin; email: string; role: InvitedRole },
): Promise<string> {
  const group = sql`organization_id is not distinct from ${admin.organizationId}::uuid`;
  if ((await tx.query(sql`select from user_account where email = ${email} and ${group}`)).length > 0)
    throw new AppError("ConflictException", `${email} is already a member`);
  await lockForTransaction(tx, `invitations of ${admin.organizationId ?? "operators"}`);
  const [pending] = await tx.query<{ count: number }>(
    sql`select count(*)::int as count from invitation where ${group}`,
  );
  if ((pending?.count ?? 0) >= MAX_PENDING_INVITATIONS) {
    throw new AppError(
      "ConflictException",
      `At most ${MAX_PENDING_INVITATIONS} invitations can be pending; revoke one first`,
      {
        details: { limit: MAX_PENDING_INVITATIONS },
      },
    );
  }
  const invitedBy = await actorDisplayName(tx, admin.actor);
  const [row] = await tx.query<{ id: string }>(sql`
    insert into invitation (id, organization_id, email, role, invited_by, invited_at)
    values (${newUuid()}, ${admin.organizationId}::uuid, ${email}, ${role}, ${invitedBy},
      ${new Date(clock.now()).toISOString()}::timestamptz)
    on conflict do nothing returning id`);
  if (row) return row.id;
  throw new AppError("ConflictException", `${email} is already invited; resend that invitation instead`);
}

/** Issues the link and enqueues the mail. An e-mail address with an account elsewhere gets a different mail, same result. */
async function sendInvitation(
  { clock, emailTokens, mails, pageUrl }: InvitationDeps,
  tx: Transaction,
  { admin, id, event }: { admin: MemberAdmin; id: string; event: "invited" | "resent" },
): Promise<InvitationView> {
  const [invited] = await tx.query<{
    email: string;
    invitedBy: string;
    organizationName: string | null;
    isKnown: boolean;
  }>(sql`
    update invitation set invited_at = ${new Date(clock.now()).toISOString()}::timestamptz
    where id = ${id} and ${inGroup(admin)}
    returning email, invited_by as "invitedBy",
      (select name from organization where organization.id = organization_id) as "organizationName",
      exists (select from user_account where user_account.email = invitation.email) as "isKnown"`);
  if (!invited) throw invitationNotFound();
  const { email } = invited;
  const token = await emailTokens.issue(tx, {
    kind: "invitation",
    subjectId: id,
    email,
    lifetimeMs: REGISTRATION_LIFETIME_MS,
  });
  const url = pageUrl(`/invitation#token=${token}`);
  await mails.enqueue(
    tx,
    invited.isKnown ? existingAccountInvitationMail(invited) : invitationMail(invited, url),
  );
  await recordInvitation(tx, admin, { event, id, email });
  const [view] = await findInvitations(tx, sql`invitation.id = ${id}`);
  return view as InvitationView;
}

function recordInvitation(
  tx: Transaction,
  admin: MemberAdmin,
  { event, id, email }: { event: "invited" | "resent"; id: string; email: string },
): Promise<void> {
  const action = event === "invited" ? "member.invited" : "invitation.resent";
  return recordAuditEvent(tx, { action, subject: toTypedId("inv", id), details: { email }, ...admin });
}

function inGroup({ organizationId }: MemberGroup): Sql {
  return sql`invitation.organization_id is not distinct from ${organizationId}::uuid`;
}

async function findInvitations(on: Queryable, condition: Sql): Promise<InvitationView[]> {
  const rows = await on.query<InvitationRow>(sql`
    select invitation.id, invitation.email, invitation.role, invitation.invited_by, invitation.invited_at, link.expires_at
    from invitation join email_token link on link.kind = 'invitation' and link.subject_id = invitation.id
    where ${condition} order by invitation.invited_at desc, invitation.id desc limit ${MAX_PENDING_INVITATIONS}::int`);
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

/** Throws NotFoundException for a malformed id, as for an unknown one. */
function uuidOf(typedId: string): string {
  const id = fromTypedId("inv", typedId);
  if (id === null) throw invitationNotFound();
  return id;
}

function invitationNotFound(): AppError {
  return new AppError("NotFoundException", "There is no such invitation");
}

function invalidRoleError({ organizationId }: MemberGroup): AppError {
  const message = organizationId === null ? "must be OPERATOR" : "must be OWNER or MEMBER";
  return badRequest([{ location: "body", field: "role", code: "invalid_value", message }]);
}
