/** Following a link to an account: what it is good for, and the account that comes of it. */
import type { Database, Queryable, Transaction } from "../platform/database.ts";
import { toTypedId } from "../platform/ids.ts";
import { sql } from "../platform/sql.ts";
import { z } from "zod";
import { checked, personName } from "./account.fields.ts";
import { record, type Origin } from "./audit.service.ts";
import type { LinkKind } from "./link.entity.ts";
import { linkGone, type KnownLink, type LinkService } from "./link.service.ts";
import type { Throttle } from "./throttle.ts";
import type { UserRole } from "./user.entity.ts";
import type { UserService } from "./user.service.ts";

/** What the page behind a link has to say. */
export interface LinkView {
  readonly kind: LinkKind;
  readonly email: string;
  /** Null: it is about none. */
  readonly organizationName: string | null;
  /** What is asked, where the link is for an answer. */
  readonly question: string | null;
  readonly expiresAt: string;
}

/** Throws NotFoundException in the same words for every link that is not good, or not any more. */
export interface RegistrationService {
  check(body: unknown, origin: Origin): Promise<LinkView>;
  /**
   * Makes the account of a registration or an invitation: `{token, name, password}`. Where it is refused the link stays
   * good. Throws BadRequestException with what is wrong, ConflictException where the address has an account by now.
   */
  accept(body: unknown, origin: Origin): Promise<void>;
}

export interface RegistrationParts {
  database: Database;
  links: LinkService;
  users: Pick<UserService, "hashPassword" | "insertUser">;
  throttle: Throttle;
}

const token = z.string({ error: "must be a string" });
const checkBody = z.object({ token }, { error: "must be an object" });
const acceptBody = z.object(
  { token, name: personName, password: z.string({ error: "must be a string" }) },
  { error: "must be an object" },
);

export function createRegistrationService(parts: RegistrationParts): RegistrationService {
  const { database, links, users, throttle } = parts;
  return {
    async check(body, { address }) {
      await throttle.take(["link-address", address ?? ""]);
      return await describe(database, await links.check(checked(checkBody, body).token));
    },

    async accept(body, origin) {
      await throttle.take(["link-address", origin.address ?? ""]);
      const { token: given, name, password } = checked(acceptBody, body);
      const known = await links.check(given);
      const { kind, subjectId } = known;
      if (kind !== "registration" && kind !== "invitation") throw linkGone();
      // Before the transaction, which would keep its rows and its connection meanwhile; and before the link is used up:
      // whoever has it may try another password.
      const passwordHash = await users.hashPassword(password, known.email);
      await database.transaction(async (tx) => {
        // What the link is about comes first, as it does where links are issued: so nobody waits in a circle.
        const place = await (kind === "registration" ? register(tx, subjectId) : join(tx, subjectId));
        const { email } = await links.consume(tx, given, kind);
        await admit(parts, tx, { name, passwordHash, email, place, origin });
      });
    },
  };
}

/** Where somebody comes to, and as what. */
interface Place {
  readonly organizationId: string | null;
  readonly role: UserRole;
  readonly action: "member.registered" | "member.joined";
}

/** The person of a request that was approved is the organisation's first owner. */
async function register(tx: Queryable, requestId: string): Promise<Place> {
  const [request] = await tx.query<{ organization_id: string }>(sql`
    update account_request set status = 'registered' where id = ${requestId} and status = 'approved'
    returning organization_id`);
  if (!request) throw linkGone();
  return { organizationId: request.organization_id, role: "owner", action: "member.registered" };
}

async function join(tx: Queryable, invitationId: string): Promise<Place> {
  const [invitation] = await tx.query<{ organization_id: string | null; role: UserRole }>(
    sql`delete from invitation where id = ${invitationId} returning organization_id, role`,
  );
  if (!invitation) throw linkGone();
  return { organizationId: invitation.organization_id, role: invitation.role, action: "member.joined" };
}

interface Admission {
  readonly name: string;
  readonly passwordHash: string;
  readonly email: string;
  readonly place: Place;
  readonly origin: Origin;
}

async function admit({ users }: RegistrationParts, tx: Transaction, admission: Admission): Promise<void> {
  const { name, passwordHash, email, place, origin } = admission;
  const { organizationId, role, action } = place;
  const id = await users.insertUser(tx, { email, name, passwordHash, organizationId, role });
  await record(tx, {
    ...origin,
    action,
    actor: { type: "user", id },
    organizationId,
    subject: toTypedId("usr", id),
    details: { email, role },
  });
}

async function describe(on: Queryable, { kind, subjectId, email, expiresAt }: KnownLink): Promise<LinkView> {
  const [about] = await on.query<{ organization_name: string | null; question: string | null }>(
    aboutOf[kind](subjectId),
  );
  return {
    kind,
    email,
    organizationName: about?.organization_name ?? null,
    question: about?.question ?? null,
    expiresAt,
  };
}

const aboutOf: Readonly<Record<LinkKind, (subjectId: string) => ReturnType<typeof sql>>> = {
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
