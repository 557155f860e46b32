/** Public account requests and answers to operators' questions. No response reveals which e-mail addresses have accounts. */
import type { MailService } from "../../mail/api.ts";
import type { BackgroundQueue } from "../../platform/concurrency/background-queue.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable, Transaction } from "../../platform/postgres/database.ts";
import { newUuid, toTypedId } from "../../platform/ids.ts";
import { organizationTypes, systemActor } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { lockForTransaction } from "../../platform/postgres/transaction-lock.ts";
import { z } from "zod";
import { accountEmail, parseOrThrow, organizationNameField, freeText } from "../account.fields.ts";
import { type AuditSource, recordAuditEvent } from "../../audit/api.ts";
import {
  invalidEmailToken,
  REGISTRATION_LIFETIME_MS,
  type EmailTokenService,
} from "../email-token.service.ts";
import type { AccountRequestNoteKind } from "./entity.ts";
import { accountExistsMail, registrationMail, requestReceivedMail } from "./mails.ts";
import type { Throttle } from "../auth/throttle.ts";

export interface AccountRequestService {
  /**
   * Validates `body`, then processes the request in the background and replies by mail. Throws BadRequestException with
   * every problem, and TooManyRequestsException.
   */
  submit(body: unknown, source: AuditSource): Promise<void>;
  /** Answers an operator's question. `body`: `{token, message}`. Throws NotFoundException for an invalid link. */
  answer(body: unknown, source: AuditSource): Promise<void>;
}

export interface AccountRequestDeps {
  database: Database;
  clock: Clock;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  backgroundQueue: BackgroundQueue;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

const requestBody = z.object(
  {
    email: accountEmail,
    organization_name: organizationNameField,
    organization_type: z.enum(organizationTypes, { error: `must be ${organizationTypes.join(" or ")}` }),
    message: freeText.nullish(),
  },
  { error: "must be an object" },
);
type RequestBody = z.output<typeof requestBody>;

const answerBody = z.object(
  { token: z.string({ error: "must be a string" }), message: freeText },
  { error: "must be an object" },
);

export function createAccountRequestService(deps: AccountRequestDeps): AccountRequestService {
  const { throttle, backgroundQueue, emailTokens, database } = deps;
  return {
    async submit(body, source) {
      const request = parseOrThrow(requestBody, body);
      await throttle.take(["form-address", source.address ?? ""]);
      backgroundQueue.run("account request", () => processRequest(deps, request, source));
    },

    async answer(body, source) {
      await throttle.take(["link-address", source.address ?? ""]);
      const { token, message } = parseOrThrow(answerBody, body);
      const { kind, subjectId: id } = await emailTokens.check(token);
      if (kind !== "account_request_answer") throw invalidEmailToken();
      await database.transaction(async (tx) => {
        // Locks the request before its token, in the same order as issuing a link, to avoid deadlocks.
        await tx.query(
          sql`update account_request set status = 'pending' where id = ${id} and status = 'asked'`,
        );
        const { email } = await emailTokens.consume(tx, token, kind);
        await addNote(tx, { requestId: id, kind: "answer", by: email, text: message });
        await recordRequestEvent(tx, { action: "account_request.answered", id, source });
      });
    },
  };
}

async function processRequest(
  deps: AccountRequestDeps,
  request: RequestBody,
  source: AuditSource,
): Promise<void> {
  const { email } = request;
  const isMailAllowed = await deps.throttle.tryTake(["request-account", email]);
  await deps.database.transaction(async (tx) => {
    const send = isMailAllowed ? deps.mails.enqueue.bind(null, tx) : () => Promise.resolve();
    if (await hasAccount(tx, email))
      return await send(accountExistsMail({ email }, deps.pageUrl("/sign-in")));
    const id = await insertRequest(tx, request);
    if (id === null) return isMailAllowed ? await resendExpiredRegistration(deps, tx, email) : undefined;
    await recordRequestEvent(tx, {
      action: "account_request.received",
      id,
      source,
      details: { email },
    });
    await send(requestReceivedMail({ email }));
  });
}

/** Returns the request's uuid; null if the e-mail address already has an open request, which stays unchanged. */
async function insertRequest(tx: Queryable, request: RequestBody): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(sql`
    insert into account_request (id, email, organization_name, organization_type, message)
    values (${newUuid()}, ${request.email}, ${request.organization_name}, ${request.organization_type},
      ${request.message ?? null})
    on conflict do nothing returning id`);
  return row?.id ?? null;
}

/** Mails a new registration link if the request was approved but its link has expired. */
async function resendExpiredRegistration(
  { clock, emailTokens, mails, pageUrl }: AccountRequestDeps,
  tx: Transaction,
  email: string,
) {
  const [approved] = await tx.query<{ id: string; organization_name: string }>(sql`
    select request.id, organization.name as organization_name
    from account_request request join organization on organization.id = request.organization_id
      join email_token link on link.kind = 'registration' and link.subject_id = request.id
    where request.email = ${email} and request.status = 'approved' and link.used_at is null
      and link.expires_at <= ${new Date(clock.now()).toISOString()}::timestamptz
    for update of request`);
  if (!approved) return;
  const { id: subjectId, organization_name: organizationName } = approved;
  const token = await emailTokens.issue(tx, {
    kind: "registration",
    subjectId,
    email,
    lifetimeMs: REGISTRATION_LIFETIME_MS,
  });
  await mails.enqueue(tx, registrationMail({ email, organizationName }, pageUrl(`/register#token=${token}`)));
}

export async function hasAccount(on: Queryable, email: string): Promise<boolean> {
  return (await on.query(sql`select from user_account where email = ${email}`)).length > 0;
}

/** Of all kinds. */
export const MAX_NOTES_PER_REQUEST = 200;

/** Returns false if the request already has the maximum number of notes. */
export async function addNote(
  tx: Queryable,
  note: { requestId: string; kind: AccountRequestNoteKind; by: string; text: string },
): Promise<boolean> {
  await lockForTransaction(tx, `notes of account request ${note.requestId}`);
  const rows = await tx.query(sql`
    insert into account_request_note (id, request_id, by, kind, text)
    select ${newUuid()}, ${note.requestId}, ${note.by}, ${note.kind}, ${note.text}
    where (select count(*) from account_request_note where request_id = ${note.requestId}) < ${MAX_NOTES_PER_REQUEST}
    returning 1`);
  return rows.length > 0;
}

function recordRequestEvent(
  tx: Queryable,
  {
    action,
    id,
    source,
    details,
  }: { action: string; id: string; source: AuditSource; details?: Record<string, unknown> },
): Promise<void> {
  return recordAuditEvent(tx, {
    ...source,
    action,
    actor: systemActor,
    organizationId: null,
    subject: toTypedId("arq", id),
    details,
  });
}
