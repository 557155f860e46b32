/** Requests for an account, as the public makes and completes them. Nobody learns from it which addresses are known. */
import type { MailService } from "../mail/mail.service.ts";
import type { Afterwards } from "../platform/afterwards.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable, Transaction } from "../platform/database.ts";
import { newUuid, toTypedId } from "../platform/ids.ts";
import { organizationTypes, systemActor } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";
import { lockUntilEnd } from "../platform/transaction-lock.ts";
import { z } from "zod";
import { accountEmail, checked, organizationNameValue, words } from "./account.fields.ts";
import { record, type Origin } from "./audit.service.ts";
import { linkGone, REGISTRATION_MS, type LinkService } from "./link.service.ts";
import type { NoteKind } from "./request.entity.ts";
import { accountExistsMail, registrationMail, requestReceivedMail } from "./request.mails.ts";
import type { Throttle } from "./throttle.ts";

export interface AccountRequestService {
  /**
   * Takes a request as it came. What becomes of it, once this has resolved, depends on whether the address is known, and
   * goes by mail. Throws BadRequestException with every wrong value, and TooManyRequestsException.
   */
  submit(body: unknown, origin: Origin): Promise<void>;
  /** The answer to a question of ours: `{token, message}`. Throws NotFoundException for a link that is not good any more. */
  answer(body: unknown, origin: Origin): Promise<void>;
}

export interface AccountRequestParts {
  database: Database;
  clock: Clock;
  links: LinkService;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  afterwards: Afterwards;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

const requestBody = z.object(
  {
    email: accountEmail,
    organization_name: organizationNameValue,
    organization_type: z.enum(organizationTypes, { error: `must be ${organizationTypes.join(" or ")}` }),
    message: words.nullish(),
  },
  { error: "must be an object" },
);
type RequestBody = z.output<typeof requestBody>;

const answerBody = z.object(
  { token: z.string({ error: "must be a string" }), message: words },
  { error: "must be an object" },
);

export function createAccountRequestService(parts: AccountRequestParts): AccountRequestService {
  const { throttle, afterwards, links, database } = parts;
  return {
    async submit(body, origin) {
      const request = checked(requestBody, body);
      await throttle.take(["form-address", origin.address ?? ""]);
      afterwards.run("account request", () => receive(parts, request, origin));
    },

    async answer(body, origin) {
      await throttle.take(["link-address", origin.address ?? ""]);
      const { token, message } = checked(answerBody, body);
      const { kind, subjectId: id } = await links.check(token);
      if (kind !== "account_request_answer") throw linkGone();
      await database.transaction(async (tx) => {
        // The request comes before its link, as it does where links are issued: so nobody waits in a circle.
        await tx.query(
          sql`update account_request set status = 'pending' where id = ${id} and status = 'asked'`,
        );
        const { email } = await links.consume(tx, token, kind);
        await addNote(tx, { requestId: id, kind: "answer", by: email, text: message });
        await recordAct(tx, { action: "account_request.answered", id, origin });
      });
    },
  };
}

async function receive(parts: AccountRequestParts, request: RequestBody, origin: Origin): Promise<void> {
  const { email } = request;
  const mayMail = await parts.throttle.allows(["request-account", email]);
  await parts.database.transaction(async (tx) => {
    const send = mayMail ? parts.mails.enqueue.bind(null, tx) : () => Promise.resolve();
    if (await hasAccount(tx, email))
      return await send(accountExistsMail({ email }, parts.pageUrl("/sign-in")));
    const id = await insertRequest(tx, request);
    if (id === null) return mayMail ? await remindOf(parts, tx, email) : undefined;
    await recordAct(tx, { action: "account_request.received", id, origin, details: { email } });
    await send(requestReceivedMail({ email }));
  });
}

/** Null where one of this address waits already: that stays as it is. */
async function insertRequest(tx: Queryable, request: RequestBody): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(sql`
    insert into account_request (id, email, organization_name, organization_type, message)
    values (${newUuid()}, ${request.email}, ${request.organization_name}, ${request.organization_type},
      ${request.message ?? null})
    on conflict do nothing returning id`);
  return row?.id ?? null;
}

/** Who asks again since the registration's link has ended gets a new one. */
async function remindOf(
  { clock, links, mails, pageUrl }: AccountRequestParts,
  tx: Transaction,
  email: string,
) {
  const [approved] = await tx.query<{ id: string; organization_name: string }>(sql`
    select request.id, organization.name as organization_name
    from account_request request join organization on organization.id = request.organization_id
      join account_link link on link.kind = 'registration' and link.subject_id = request.id
    where request.email = ${email} and request.status = 'approved' and link.used_at is null
      and link.expires_at <= ${new Date(clock.now()).toISOString()}::timestamptz
    for update of request`);
  if (!approved) return;
  const { id: subjectId, organization_name: organizationName } = approved;
  const token = await links.issue(tx, {
    kind: "registration",
    subjectId,
    email,
    lifetimeMs: REGISTRATION_MS,
  });
  await mails.enqueue(tx, registrationMail({ email, organizationName }, pageUrl(`/register#token=${token}`)));
}

export async function hasAccount(on: Queryable, email: string): Promise<boolean> {
  return (await on.query(sql`select from user_account where email = ${email}`)).length > 0;
}

/** Beyond what anybody has to say about one request. */
export const MAX_NOTES = 200;

/** False where there are too many already. */
export async function addNote(
  tx: Queryable,
  note: { requestId: string; kind: NoteKind; by: string; text: string },
): Promise<boolean> {
  await lockUntilEnd(tx, `notes of account request ${note.requestId}`);
  const rows = await tx.query(sql`
    insert into account_request_note (id, request_id, by, kind, text)
    select ${newUuid()}, ${note.requestId}, ${note.by}, ${note.kind}, ${note.text}
    where (select count(*) from account_request_note where request_id = ${note.requestId}) < ${MAX_NOTES}
    returning 1`);
  return rows.length > 0;
}

function recordAct(
  tx: Queryable,
  {
    action,
    id,
    origin,
    details,
  }: { action: string; id: string; origin: Origin; details?: Record<string, unknown> },
): Promise<void> {
  return record(tx, {
    ...origin,
    action,
    actor: systemActor,
    organizationId: null,
    subject: toTypedId("arq", id),
    details,
  });
}
