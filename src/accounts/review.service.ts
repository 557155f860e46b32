/** What operators do with requests for an account: each act with its mail and its place in the audit log, or not at all. */
import type { MailService, NewMail } from "../mail/mail.service.ts";
import { insertOrganization } from "../organizations/organization.service.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable, Transaction } from "../platform/database.ts";
import { AppError, type Problem } from "../platform/errors.ts";
import { fromTypedId, toTypedId } from "../platform/ids.ts";
import { sql } from "../platform/sql.ts";
import { checked, organizationNameValue, words } from "./account.fields.ts";
import { nameOfActor, record, type ActContext } from "./audit.service.ts";
import { REGISTRATION_MS, type LinkService } from "./link.service.ts";
import type { NoteKind, RequestStatus } from "./request.entity.ts";
import { questionMail, registrationMail, rejectionMail } from "./request.mails.ts";
import { requestsById, type RequestView } from "./request.queries.ts";
import { addNote, hasAccount, MAX_NOTES } from "./request.service.ts";

/**
 * `id`: typed. Whether the caller is an operator is the caller's to know. Throws NotFoundException where there is no such
 * request, ConflictException where it is not in the state for it, BadRequestException for words that cannot be sent.
 */
export interface ReviewService {
  /** Makes the organisation, by the name that was asked for or another, and sends the registration's link. */
  approve(context: ActContext, id: string, organizationName?: string | null): Promise<RequestView>;
  reject(context: ActContext, id: string, reason: string): Promise<RequestView>;
  /** Asks again as well: the former question's link ends. */
  ask(context: ActContext, id: string, question: string): Promise<RequestView>;
  /** For operators alone, whatever the state. */
  note(context: ActContext, id: string, text: string): Promise<RequestView>;
  /** The former link ends. */
  resendRegistration(context: ActContext, id: string): Promise<RequestView>;
}

export interface ReviewParts {
  database: Database;
  clock: Clock;
  links: LinkService;
  mails: Pick<MailService, "enqueue">;
  /** An address of the console. */
  pageUrl: (path: string) => string;
}

const ANSWER_MS = 14 * 86_400_000;

/** A request that is being decided on, locked. */
interface Held {
  readonly id: string;
  readonly status: RequestStatus;
  readonly email: string;
  readonly organizationName: string;
  readonly organizationType: RequestView["organizationType"];
  readonly organizationId: string | null;
  readonly decidedBy: string | null;
}

interface Review {
  readonly tx: Transaction;
  readonly request: Held;
  readonly context: ActContext;
  /** Who decides, in words. */
  readonly by: string;
}

export function createReviewService(parts: ReviewParts): ReviewService {
  const review = (context: ActContext, id: string, work: (review: Review) => Promise<void>) =>
    parts.database.transaction(async (tx) => {
      const request = await hold(tx, id);
      await work({ tx, request, context, by: await nameOfActor(tx, context.actor) });
      return (await requestsById(tx, [request.id]))[0] as RequestView;
    });

  return {
    approve: (context, id, name) => review(context, id, (held) => approve(parts, held, name ?? null)),
    reject: (context, id, text) => review(context, id, (held) => reject(parts, held, text)),
    ask: (context, id, text) => review(context, id, (held) => ask(parts, held, text)),
    note: (context, id, text) =>
      review(context, id, async (held) => {
        await say(held, "note", checked(words, text, "text"));
        await recordReview(held, "noted");
      }),
    resendRegistration: (context, id) =>
      review(context, id, async (held) => {
        requireStatus(held, ["approved"]);
        await sendRegistration(parts, held, await nameOfOrganization(held));
        await recordReview(held, "registration_resent");
      }),
  };
}

async function approve(parts: ReviewParts, held: Review, otherName: string | null): Promise<void> {
  const { tx, request } = held;
  requireStatus(held, ["pending", "asked"]);
  if (await hasAccount(tx, request.email))
    throw conflict(
      "There is an account with this e-mail address already. Reject the request, or ask for another address.",
    );
  const name =
    otherName === null
      ? request.organizationName
      : checked(organizationNameValue, otherName, "organizationName");
  const organizationId = await insertOrganization(tx, { name, type: request.organizationType });
  if (organizationId === null) throw nameTaken(name);
  await decide(parts, held, "approved", organizationId);
  await say(held, "approval", name === request.organizationName ? "Approved" : `Approved as ${name}`);
  await sendRegistration(parts, held, name);
  await recordReview(held, "approved", {
    organizationId,
    details: { email: request.email, organization: name },
  });
}

async function reject(parts: ReviewParts, held: Review, text: string): Promise<void> {
  const reason = checked(words, text, "reason");
  requireStatus(held, ["pending", "asked"]);
  await decide(parts, held, "rejected", null);
  await say(held, "rejection", reason);
  await parts.mails.enqueue(held.tx, rejectionMail(held.request, reason));
  await recordReview(held, "rejected", { details: { email: held.request.email, reason } });
}

async function ask({ links, mails, pageUrl }: ReviewParts, held: Review, text: string): Promise<void> {
  const question = checked(words, text, "question");
  const { tx, request } = held;
  requireStatus(held, ["pending", "asked"]);
  await tx.query(sql`update account_request set status = 'asked' where id = ${request.id}`);
  await say(held, "question", question);
  const link = { kind: "account_request_answer", subjectId: request.id, email: request.email } as const;
  const token = await links.issue(tx, { ...link, lifetimeMs: ANSWER_MS });
  await mails.enqueue(tx, questionMail(request, question, pageUrl(`/account-request#token=${token}`)));
  await recordReview(held, "asked");
}

/** `FOR UPDATE`: of two that decide at once the second finds it decided. */
async function hold(tx: Queryable, typedId: string): Promise<Held> {
  const id = fromTypedId("arq", typedId);
  const [request] =
    id === null
      ? []
      : await tx.query<Held>(sql`
    select id, status, email, organization_name as "organizationName", organization_type as "organizationType",
      organization_id as "organizationId", decided_by as "decidedBy"
    from account_request where id = ${id} for update`);
  if (!request) throw new AppError("NotFoundException", "There is no such request");
  return request;
}

async function decide(
  { clock, links }: ReviewParts,
  { tx, request, by }: Review,
  status: "approved" | "rejected",
  organizationId: string | null,
): Promise<void> {
  await tx.query(sql`
    update account_request set status = ${status}, decided_by = ${by}, organization_id = ${organizationId}::uuid,
      decided_at = ${new Date(clock.now()).toISOString()}::timestamptz
    where id = ${request.id}`);
  // A question that was decided without needs no answer any more.
  await links.end(tx, { kind: "account_request_answer", subjectId: request.id });
}

async function sendRegistration(
  { links, mails, pageUrl }: ReviewParts,
  { tx, request: { id: subjectId, email } }: Review,
  organizationName: string,
): Promise<void> {
  const token = await links.issue(tx, {
    kind: "registration",
    subjectId,
    email,
    lifetimeMs: REGISTRATION_MS,
  });
  const mail: NewMail = registrationMail({ email, organizationName }, pageUrl(`/register#token=${token}`));
  await mails.enqueue(tx, mail);
}

async function nameOfOrganization({ tx, request }: Review): Promise<string> {
  const [row] = await tx.query<{ name: string }>(
    sql`select name from organization where id = ${request.organizationId}::uuid`,
  );
  return row?.name ?? request.organizationName;
}

async function say({ tx, request, by }: Review, kind: NoteKind, text: string): Promise<void> {
  if (await addNote(tx, { requestId: request.id, kind, by, text })) return;
  throw new AppError("ConflictException", `There are ${MAX_NOTES} notes already, which is all that fits`, {
    details: { limit: MAX_NOTES },
  });
}

function recordReview(
  { tx, request, context }: Review,
  what: string,
  more: { organizationId?: string; details?: Record<string, unknown> } = {},
): Promise<void> {
  return record(tx, {
    action: `account_request.${what}`,
    subject: toTypedId("arq", request.id),
    ...context,
    organizationId: more.organizationId ?? request.organizationId,
    details: more.details ?? { email: request.email },
  });
}

const became: Readonly<Record<RequestStatus, string>> = {
  pending: "waits for an operator",
  asked: "waits for the person's answer",
  approved: "was approved already",
  registered: "was approved already, and the person has registered",
  rejected: "was rejected already",
};

function requireStatus({ request }: Review, statuses: readonly RequestStatus[]): void {
  if (statuses.includes(request.status)) return;
  const by = request.decidedBy === null ? "" : ` by ${request.decidedBy}`;
  throw conflict(`The request ${became[request.status]}${by}`);
}

function conflict(sentence: string): AppError {
  return new AppError("ConflictException", sentence);
}

/** The field is known, so that the form can point at it. */
function nameTaken(name: string): AppError {
  const problem: Problem = {
    location: "body",
    field: "organizationName",
    code: "conflict",
    message: `is taken: there is an organisation named "${name}" already. Give it another name.`,
  };
  return new AppError("ConflictException", `There is an organisation named "${name}" already`, {
    details: [problem],
  });
}
