/** Following a link to an account: what it is good for, and the account that comes of it. */
import type { Database, Queryable, Transaction } from "../../platform/postgres/database.ts";
import { toTypedId } from "../../platform/ids.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { z } from "zod";
import { parseOrThrow, userNameField } from "../account.fields.ts";
import { type AuditSource, recordAuditEvent } from "../../audit/api.ts";
import type { EmailTokenKind } from "../email-token.entity.ts";
import { invalidEmailToken, type EmailTokenDetails, type EmailTokenService } from "../email-token.service.ts";
import type { Throttle } from "../auth/throttle.ts";
import type { UserRole } from "../../organizations/api.ts";
import type { UserService } from "../user.service.ts";

/** What the page behind a link has to say. */
export interface EmailTokenView {
  readonly kind: EmailTokenKind;
  readonly email: string;
  /** Null: it is about none. */
  readonly organizationName: string | null;
  /** What is asked, where the link is for an answer. */
  readonly question: string | null;
  readonly expiresAt: string;
}

/** Throws NotFoundException in the same words for every link that is not good, or not any more. */
export interface RegistrationService {
  check(body: unknown, origin: AuditSource): Promise<EmailTokenView>;
  /**
   * Makes the account of a registration or an invitation: `{token, name, password}`. Where it is refused the link stays
   * good. Throws BadRequestException with what is wrong, ConflictException where the address has an account by now.
   */
  accept(body: unknown, origin: AuditSource): Promise<void>;
}

export interface RegistrationDeps {
  database: Database;
  emailTokens: EmailTokenService;
  users: Pick<UserService, "hashPassword" | "insertUser">;
  throttle: Throttle;
}

const tokenField = z.string({ error: "must be a string" });
const checkBody = z.object({ token: tokenField }, { error: "must be an object" });
const acceptBody = z.object(
  { token: tokenField, name: userNameField, password: z.string({ error: "must be a string" }) },
  { error: "must be an object" },
);

export function createRegistrationService(deps: RegistrationDeps): RegistrationService {
  const { database, emailTokens, users, throttle } = deps;
  return {
    async check(body, { address }) {
      await throttle.take(["link-address", address ?? ""]);
      return await describeToken(database, await emailTokens.check(parseOrThrow(checkBody, body).token));
    },

    async accept(body, source) {
      await throttle.take(["link-address", source.address ?? ""]);
      const { token: presentedToken, name, password } = parseOrThrow(acceptBody, body);
      const tokenDetails = await emailTokens.check(presentedToken);
      const { kind, subjectId } = tokenDetails;
      if (kind !== "registration" && kind !== "invitation") throw invalidEmailToken();
      // Before the transaction, which would keep its rows and its connection meanwhile; and before the link is used up:
      // whoever has it may try another password.
      const passwordHash = await users.hashPassword(password, tokenDetails.email);
      await database.transaction(async (tx) => {
        // What the link is about comes first, as it does where links are issued: so nobody waits in a circle.
        const membership = await (kind === "registration"
          ? acceptRegistration(tx, subjectId)
          : acceptInvitation(tx, subjectId));
        const { email } = await emailTokens.consume(tx, presentedToken, kind);
        await createMember(deps, tx, { name, passwordHash, email, membership, source });
      });
    },
  };
}

/** Where somebody comes to, and as what. */
interface NewMembership {
  readonly organizationId: string | null;
  readonly role: UserRole;
  readonly action: "member.registered" | "member.joined";
}

/** The person of a request that was approved is the organisation's first owner. */
async function acceptRegistration(tx: Queryable, requestId: string): Promise<NewMembership> {
  const [request] = await tx.query<{ organization_id: string }>(sql`
    update account_request set status = 'registered' where id = ${requestId} and status = 'approved'
    returning organization_id`);
  if (!request) throw invalidEmailToken();
  return { organizationId: request.organization_id, role: "owner", action: "member.registered" };
}

async function acceptInvitation(tx: Queryable, invitationId: string): Promise<NewMembership> {
  const [invitation] = await tx.query<{ organization_id: string | null; role: UserRole }>(
    sql`delete from invitation where id = ${invitationId} returning organization_id, role`,
  );
  if (!invitation) throw invalidEmailToken();
  return { organizationId: invitation.organization_id, role: invitation.role, action: "member.joined" };
}

interface NewMember {
  readonly name: string;
  readonly passwordHash: string;
  readonly email: string;
  readonly membership: NewMembership;
  readonly source: AuditSource;
}

async function createMember(
  { users }: RegistrationDeps,
  tx: Transaction,
  newMember: NewMember,
): Promise<void> {
  const { name, passwordHash, email, membership, source } = newMember;
  const { organizationId, role, action } = membership;
  const id = await users.insertUser(tx, { email, name, passwordHash, organizationId, role });
  await recordAuditEvent(tx, {
    ...source,
    action,
    actor: { type: "user", id },
    organizationId,
    subject: toTypedId("usr", id),
    details: { email, role },
  });
}

async function describeToken(
  on: Queryable,
  { kind, subjectId, email, expiresAt }: EmailTokenDetails,
): Promise<EmailTokenView> {
  const [subject] = await on.query<{ organization_name: string | null; question: string | null }>(
    subjectQueries[kind](subjectId),
  );
  return {
    kind,
    email,
    organizationName: subject?.organization_name ?? null,
    question: subject?.question ?? null,
    expiresAt,
  };
}

const subjectQueries: Readonly<Record<EmailTokenKind, (subjectId: string) => ReturnType<typeof sql>>> = {
  registration: (id) => sql`
    select organization.name as organization_name, null as question
    from account_request request join organization on organization.id = request.organization_id where request.id = ${id}`,
  invitation: (id) => sql`
    select organization.name as organization_name, null as question
    from invitation left join organization on organization.id = invitation.organization_id where invitation.id = ${id}`,
  password_reset: () => sql`select null as organization_name, null as question`,
  account_request_answer: (id) => sql`
    select request.organization_name, (
        select text from account_request_note note where note.request_id = request.id and kind = 'question'
        order by note.id desc limit 1) as question
    from account_request request where request.id = ${id}`,
};
