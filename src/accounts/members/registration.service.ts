/** Describes an e-mailed link, and creates the account of a registration or invitation link. */
import { LockMode, type EntityManager } from "@mikro-orm/postgresql";
import { z } from "zod";
import { toTypedId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import { type AuditSource, recordAuditEvent } from "../../audit/api.ts";
import { parseOrThrow, plainText, userNameField } from "../fields.ts";
import type { AccountContext } from "../context.ts";
import {
  checkEmailToken,
  consumeEmailToken,
  type EmailTokenKind,
  type EmailTokenLink,
  invalidEmailToken,
} from "../email-token.service.ts";
import { Invitation } from "../invitations/entity.ts";
import { checkPassword } from "../passwords/rules.ts";
import { AccountRequest, AccountRequestNote } from "../requests/entity.ts";
import { insertUser, type Login } from "../user.service.ts";

const checkBody = z.object({ token: plainText });
const acceptBody = z.object({ token: plainText, name: userNameField, password: plainText });

/** Every invalid link throws the same NotFoundException. */
export class RegistrationService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /**
   * Describes a link for the page that it opens, without using it up. `body`: `{token}`. `singleSignOn`: whether the user can
   * register with it, or must, as a password would not sign in; null: only with a password. `question`: the operator's, to answer.
   */
  async check(body: JsonObject, source: AuditSource) {
    const { database, sso } = this.#context;
    const { token } = parseOrThrow(checkBody, body);
    const { kind, subjectId, email, expiresAt } = await checkEmailToken(this.#context, token, source);
    const subject = await describeSubject(database.em(), kind, subjectId);
    const isNewUser = kind === "registration" || kind === "invitation";
    const singleSignOn = isNewUser ? await sso.offerTo(email, subject.organizationId) : null;
    return { kind, subjectId, email, ...subject, singleSignOn, expiresAt };
  }

  /**
   * Creates the account. `body`: `{token, name, password}`. Throws BadRequestException with every problem, and
   * ConflictException if the e-mail address has an account by now. After an error the link stays valid.
   */
  async accept(body: JsonObject, source: AuditSource): Promise<void> {
    const { token, name, password } = parseOrThrow(acceptBody, body);
    const link = await checkEmailToken(this.#context, token, source, "registration", "invitation");
    // Hashing is slow, so it must not hold a transaction. A rejected password must not use up the link.
    checkPassword(password, link.email);
    const passwordHash = await this.#context.hasher.hash(password);
    await this.join(link, { name, passwordHash }, source);
  }

  /**
   * Creates the account of a user whose password is hashed, or whose identity provider has verified the link's e-mail address.
   * Throws NotFoundException for a link that was used meanwhile, and ConflictException if the identity has an account.
   */
  async join(link: EmailTokenLink, user: NewMember, source: AuditSource): Promise<void> {
    const { kind, subjectId, email } = link;
    await this.#context.database.transactional(async (em, tx) => {
      // Locks the subject before its token, in the same order as issuing a link, to avoid deadlocks.
      const { organizationId, role, action } = await (kind === "registration"
        ? acceptRegistration(em, subjectId)
        : acceptInvitation(em, subjectId));
      await consumeEmailToken(tx, this.#context, link);
      const id = await insertUser(tx, { ...user, email, organizationId, role });
      await recordAuditEvent(em, {
        ...source,
        action,
        actor: { type: "user", id },
        organizationId,
        subject: toTypedId("usr", id),
        details: { email, role },
      });
    });
  }
}

type NewMember = { readonly name: string } & Login;

/** The requester becomes the organisation's first owner. */
async function acceptRegistration(em: EntityManager, id: string) {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const request = await em.findOne(AccountRequest, { id, status: "approved" }, { lockMode });
  if (!request) throw invalidEmailToken();
  request.status = "registered";
  const organizationId = request.organization?.id ?? null;
  return { organizationId, role: "owner", action: "member.registered" } as const;
}

async function acceptInvitation(em: EntityManager, id: string) {
  const invitation = await em.findOne(Invitation, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!invitation) throw invalidEmailToken();
  em.remove(invitation);
  const { organization, role } = invitation;
  return { organizationId: organization?.id ?? null, role, action: "member.joined" };
}

/** `organizationId` and `organizationName` are null if the link concerns no organisation. */
async function describeSubject(em: EntityManager, kind: EmailTokenKind, id: string) {
  const none = { organizationId: null, organizationName: null, question: null };
  if (kind === "password_reset") return none;
  if (kind === "account_request_answer") {
    const latest = { orderBy: { id: "desc" }, populate: ["request"] } as const;
    const note = await em.findOne(AccountRequestNote, { request: id, kind: "question" }, latest);
    return {
      ...none,
      organizationName: note?.request.organizationName ?? null,
      question: note?.text ?? null,
    };
  }
  const populate = ["organization"] as const;
  const subject = await (kind === "registration"
    ? em.findOne(AccountRequest, { id }, { populate })
    : em.findOne(Invitation, { id }, { populate }));
  const { id: organizationId = null, name: organizationName = null } = subject?.organization ?? {};
  return { ...none, organizationId, organizationName };
}
