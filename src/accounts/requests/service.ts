/** Public account requests and answers to operators' questions. No response reveals which e-mail addresses have accounts. */
import { LockMode, type EntityManager, type QueryResult } from "@mikro-orm/postgresql";
import { z } from "zod";
import type { NewMail } from "../../mail/api.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import type { JsonObject } from "../../core/json.ts";
import { newUuid, toTypedId } from "../../core/ids.ts";
import { organizationTypes, systemActor } from "../../core/principal.ts";
import { type AuditSource, recordAuditEvent } from "../../audit/api.ts";
import { Organization } from "../../organizations/api.ts";
import { accountEmail, parseOrThrow, organizationNameField, freeText, plainText } from "../fields.ts";
import { formAttempts } from "../auth/throttle.ts";
import type { AccountContext } from "../context.ts";
import { checkEmailToken, consumeEmailToken, issueEmailLink } from "../email-token.service.ts";
import { hasAccount } from "../user.service.ts";
import { AccountRequest, AccountRequestNote, type AccountRequestNoteKind } from "./entity.ts";
import { accountExistsMail, registrationMail, requestReceivedMail } from "./mails.ts";

const requestBody = z.object({
  email: accountEmail,
  organization_name: organizationNameField,
  organization_type: z.enum(organizationTypes, { error: `must be ${organizationTypes.join(" or ")}` }),
  message: freeText.nullish(),
});
type RequestBody = z.output<typeof requestBody>;

const answerBody = z.object({ token: plainText, message: freeText });

export class AccountRequestService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /**
   * Validates `body`, then processes the request in the background and replies by mail. Throws BadRequestException with
   * every problem, and TooManyRequestsException.
   */
  async submit(body: JsonObject, source: AuditSource): Promise<void> {
    const { backgroundQueue, throttle } = this.#context;
    const request = parseOrThrow(requestBody, body);
    await throttle.take(...formAttempts(source.ipAddress ?? ""));
    backgroundQueue.run("account request", () => this.#process(request, source));
  }

  /** Answers an operator's question. `body`: `{token, message}`. Throws NotFoundException for an invalid link. */
  async answer(body: JsonObject, source: AuditSource): Promise<void> {
    const { token, message } = parseOrThrow(answerBody, body);
    const link = await checkEmailToken(this.#context, token, source, "account_request_answer");
    const { subjectId: id, email } = link;
    await this.#context.database.transactional(async (em, tx) => {
      // Locks the request before its token, in the same order as issuing a link, to avoid deadlocks.
      await em.nativeUpdate(AccountRequest, { id, status: "awaiting_reply" }, { status: "pending" });
      await consumeEmailToken(tx, this.#context, link);
      const request = em.getReference(AccountRequest, id);
      await addNote(em, { request, kind: "answer", by: email, text: message });
      await recordAuditEvent(em, { ...source, ...requestedBy(id), action: "account_request.answered" });
    });
  }

  async #process(body: RequestBody, source: AuditSource): Promise<void> {
    const { database, mails, pageUrl, throttle } = this.#context;
    const { email } = body;
    const isMailAllowed =
      (await throttle.tryTake(["request-account", email])) && (await throttle.tryTake(["request-total", ""]));
    await database.transactional(async (em, tx) => {
      const send = async (mail: NewMail): Promise<void> => {
        if (isMailAllowed) await mails.enqueue(tx, mail);
      };
      if (await hasAccount(em, email)) return await send(accountExistsMail(email, pageUrl("/sign-in")));
      const id = await insertRequest(em, body);
      if (id === null) return isMailAllowed ? await this.#resendExpiredRegistration(tx, email) : undefined;
      const event = { action: "account_request.received", details: { email } };
      await recordAuditEvent(em, { ...source, ...requestedBy(id), ...event });
      await send(requestReceivedMail(email));
    });
  }

  /** Mails a new registration link if the request was approved but its link has expired. */
  async #resendExpiredRegistration(tx: Transaction, email: string): Promise<void> {
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
    const approved = await tx.em().findOne(AccountRequest, { email, status: "approved" }, lock);
    const expiresAt = approved?.registrationExpiresAt;
    if (!approved?.organization || !expiresAt || expiresAt.getTime() > this.#context.clock.now()) return;
    const { name } = await tx.em().findOneOrFail(Organization, { id: approved.organization.id });
    await sendRegistration(this.#context, tx, approved, name);
  }
}

/** Returns the request's uuid; null if the e-mail address already has an open request, which stays unchanged. */
async function insertRequest(
  em: EntityManager,
  { email, organization_name: organizationName, organization_type: organizationType, message }: RequestBody,
): Promise<string | null> {
  const id = newUuid();
  const request = { id, email, organizationName, organizationType, message: message ?? null };
  const { affectedRows } = await em
    .createQueryBuilder(AccountRequest)
    .insert(request)
    .onConflict()
    .ignore()
    .execute<QueryResult>("run");
  return affectedRows > 0 ? id : null;
}

/** Mails a registration link for the request's organisation. Invalidates the previous link. */
export async function sendRegistration(
  context: Pick<AccountContext, "clock" | "mails" | "pageUrl">,
  tx: Transaction,
  request: AccountRequest,
  organizationName: string,
): Promise<void> {
  const { id: subjectId, email } = request;
  const { url, expiresAt } = await issueEmailLink(tx, context, { kind: "registration", subjectId, email });
  request.registrationExpiresAt = expiresAt;
  await context.mails.enqueue(tx, registrationMail({ email, organizationName }, url));
}

/** Of all kinds. */
export const MAX_NOTES_PER_REQUEST = 200;

/** The request must be locked. Returns false if it already has the maximum number of notes. */
export async function addNote(
  em: EntityManager,
  note: { request: AccountRequest; kind: AccountRequestNoteKind; by: string; text: string },
): Promise<boolean> {
  const { request } = note;
  if ((await em.count(AccountRequestNote, { request })) >= MAX_NOTES_PER_REQUEST) return false;
  em.persist(em.create(AccountRequestNote, { id: newUuid(), ...note }));
  return true;
}

/** For events of someone who has no account. */
const requestedBy = (id: string) => ({
  actor: systemActor,
  organizationId: null,
  subject: toTypedId("arq", id),
});
