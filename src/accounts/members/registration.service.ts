/** Describes an e-mailed link, and creates the account of a registration or invitation link. */
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

/** Shown on the page that a link opens. */
export interface EmailTokenView {
  readonly kind: EmailTokenKind;
  readonly email: string;
  /** Null if the link concerns no organisation. */
  readonly organizationName: string | null;
  /** The operator's question, for a link to answer it; otherwise null. */
  readonly question: string | null;
  readonly expiresAt: string;
}

/** Every invalid link throws the same NotFoundException. */
export interface RegistrationService {
  /** `body`: `{token}`. Doesn't use the link up. */
  check(body: unknown, source: AuditSource): Promise<EmailTokenView>;
  /**
   * Creates the account. `body`: `{token, name, password}`. Throws BadRequestException with every problem, and
   * ConflictException if the e-mail address has an account by now. After an error the link stays valid.
   */
  accept(body: unknown, source: AuditSource): Promise<void>;
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
      // Hashing is slow, so it must not hold a transaction. A rejected password must not use up the link.
      const passwordHash = await users.hashPassword(password, tokenDetails.email);
      await database.transaction(async (tx) => {
        // Locks the subject before its token, in the same order as issuing a link, to avoid deadlocks.
        const membership = await (kind === "registration"
          ? acceptRegistration(tx, subjectId)
          : acceptInvitation(tx, subjectId));
        const { email } = await emailTokens.consume(tx, presentedToken, kind);
        await createMember(deps, tx, { name, passwordHash, email, membership, source });
      });
    },
  };
}

/** The organisation and role that a link grants. */
interface NewMembership {
  readonly organizationId: string | null;
  readonly role: UserRole;
  readonly action: "member.registered" | "member.joined";
}

/** The requester becomes the organisation's first owner. */
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
