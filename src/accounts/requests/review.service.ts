/** What operators do with requests for an account: each act with its mail and its place in the audit log, or not at all. */
import type { MailService, NewMail } from "../../mail/api.ts";
import { insertOrganization } from "../../organizations/api.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable, Transaction } from "../../platform/postgres/database.ts";
import { AppError, type Problem } from "../../platform/errors.ts";
import { fromTypedId, toTypedId } from "../../platform/ids.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { parseOrThrow, organizationNameField, freeText } from "../account.fields.ts";
import { actorDisplayName, type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import { REGISTRATION_LIFETIME_MS, type EmailTokenService } from "../email-token.service.ts";
import type { AccountRequestNoteKind, AccountRequestStatus } from "./entity.ts";
import { questionMail, registrationMail, rejectionMail } from "./mails.ts";
import { accountRequestsByIds, type AccountRequestView } from "./queries.ts";
import { addNote, hasAccount, MAX_NOTES_PER_REQUEST } from "./service.ts";

/**
 * `id`: typed. Whether the caller is an operator is the caller's to know. Throws NotFoundException where there is no such
 * request, ConflictException where it is not in the state for it, BadRequestException for words that cannot be sent.
 */
export interface ReviewService {
  /** Makes the organisation, by the name that was asked for or another, and sends the registration's link. */
  approve(context: AuditContext, id: string, organizationName?: string | null): Promise<AccountRequestView>;
  reject(context: AuditContext, id: string, reason: string): Promise<AccountRequestView>;
  /** Asks again as well: the former question's link ends. */
  askQuestion(context: AuditContext, id: string, question: string): Promise<AccountRequestView>;
  /** For operators alone, whatever the state. */
  addNote(context: AuditContext, id: string, text: string): Promise<AccountRequestView>;
  /** The former link ends. */
  resendRegistration(context: AuditContext, id: string): Promise<AccountRequestView>;
}

export interface ReviewDeps {
  database: Database;
  clock: Clock;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  /** An address of the console. */
  pageUrl: (path: string) => string;
}

const ANSWER_LIFETIME_MS = 14 * 86_400_000;

/** A request that is being decided on, locked. */
interface LockedRequest {
  readonly id: string;
  readonly status: AccountRequestStatus;
  readonly email: string;
  readonly organizationName: string;
  readonly organizationType: AccountRequestView["organizationType"];
  readonly organizationId: string | null;
  readonly decidedBy: string | null;
}

interface ReviewContext {
  readonly tx: Transaction;
  readonly request: LockedRequest;
  readonly context: AuditContext;
  /** Who decides, in words. */
  readonly reviewerName: string;
}

export function createReviewService(deps: ReviewDeps): ReviewService {
  const review = (context: AuditContext, id: string, work: (review: ReviewContext) => Promise<void>) =>
    deps.database.transaction(async (tx) => {
      const request = await lockRequest(tx, id);
      await work({ tx, request, context, reviewerName: await actorDisplayName(tx, context.actor) });
      return (await accountRequestsByIds(tx, [request.id]))[0] as AccountRequestView;
    });

  return {
    approve: (context, id, name) => review(context, id, (held) => approve(deps, held, name ?? null)),
    reject: (context, id, text) => review(context, id, (held) => reject(deps, held, text)),
    askQuestion: (context, id, text) => review(context, id, (held) => askQuestion(deps, held, text)),
    addNote: (context, id, text) =>
      review(context, id, async (held) => {
        await addReviewNote(held, "note", parseOrThrow(freeText, text, "text"));
        await recordReview(held, "noted");
      }),
    resendRegistration: (context, id) =>
      review(context, id, async (held) => {
        requireStatus(held, ["approved"]);
        await sendRegistration(deps, held, await findOrganizationName(held));
        await recordReview(held, "registration_resent");
      }),
  };
}

async function approve(deps: ReviewDeps, review: ReviewContext, otherName: string | null): Promise<void> {
  const { tx, request } = review;
  requireStatus(review, ["pending", "asked"]);
  if (await hasAccount(tx, request.email))
    throw conflictError(
      "There is an account with this e-mail address already. Reject the request, or ask for another address.",
    );
  const name =
    otherName === null
      ? request.organizationName
      : parseOrThrow(organizationNameField, otherName, "organizationName");
  const organizationId = await insertOrganization(tx, { name, type: request.organizationType });
  if (organizationId === null) throw nameTakenError(name);
  await decide(deps, review, "approved", organizationId);
  await addReviewNote(
    review,
    "approval",
    name === request.organizationName ? "Approved" : `Approved as ${name}`,
  );
  await sendRegistration(deps, review, name);
  await recordReview(review, "approved", {
    organizationId,
    details: { email: request.email, organization: name },
  });
}

async function reject(deps: ReviewDeps, review: ReviewContext, text: string): Promise<void> {
  const reason = parseOrThrow(freeText, text, "reason");
  requireStatus(review, ["pending", "asked"]);
  await decide(deps, review, "rejected", null);
  await addReviewNote(review, "rejection", reason);
  await deps.mails.enqueue(review.tx, rejectionMail(review.request, reason));
  await recordReview(review, "rejected", { details: { email: review.request.email, reason } });
}

async function askQuestion(
  { emailTokens, mails, pageUrl }: ReviewDeps,
  review: ReviewContext,
  text: string,
): Promise<void> {
  const question = parseOrThrow(freeText, text, "question");
  const { tx, request } = review;
  requireStatus(review, ["pending", "asked"]);
  await tx.query(sql`update account_request set status = 'asked' where id = ${request.id}`);
  await addReviewNote(review, "question", question);
  const link = { kind: "account_request_answer", subjectId: request.id, email: request.email } as const;
  const token = await emailTokens.issue(tx, { ...link, lifetimeMs: ANSWER_LIFETIME_MS });
  await mails.enqueue(tx, questionMail(request, question, pageUrl(`/account-request#token=${token}`)));
  await recordReview(review, "asked");
}

/** `FOR UPDATE`: of two that decide at once the second finds it decided. */
async function lockRequest(tx: Queryable, typedId: string): Promise<LockedRequest> {
  const id = fromTypedId("arq", typedId);
  const [request] =
    id === null
      ? []
      : await tx.query<LockedRequest>(sql`
    select id, status, email, organization_name as "organizationName", organization_type as "organizationType",
      organization_id as "organizationId", decided_by as "decidedBy"
    from account_request where id = ${id} for update`);
  if (!request) throw new AppError("NotFoundException", "There is no such request");
  return request;
}

async function decide(
  { clock, emailTokens }: ReviewDeps,
  { tx, request, reviewerName }: ReviewContext,
  status: "approved" | "rejected",
  organizationId: string | null,
): Promise<void> {
  await tx.query(sql`
    update account_request set status = ${status}, decided_by = ${reviewerName}, organization_id = ${organizationId}::uuid,
      decided_at = ${new Date(clock.now()).toISOString()}::timestamptz
    where id = ${request.id}`);
  // A question that was decided without needs no answer any more.
  await emailTokens.revoke(tx, { kind: "account_request_answer", subjectId: request.id });
}

async function sendRegistration(
  { emailTokens, mails, pageUrl }: ReviewDeps,
  { tx, request: { id: subjectId, email } }: ReviewContext,
  organizationName: string,
): Promise<void> {
  const token = await emailTokens.issue(tx, {
    kind: "registration",
    subjectId,
    email,
    lifetimeMs: REGISTRATION_LIFETIME_MS,
  });
  const mail: NewMail = registrationMail({ email, organizationName }, pageUrl(`/register#token=${token}`));
  await mails.enqueue(tx, mail);
}

async function findOrganizationName({ tx, request }: ReviewContext): Promise<string> {
  const [row] = await tx.query<{ name: string }>(
    sql`select name from organization where id = ${request.organizationId}::uuid`,
  );
  return row?.name ?? request.organizationName;
}

async function addReviewNote(
  { tx, request, reviewerName }: ReviewContext,
  kind: AccountRequestNoteKind,
  text: string,
): Promise<void> {
  if (await addNote(tx, { requestId: request.id, kind, by: reviewerName, text })) return;
  throw new AppError(
    "ConflictException",
    `There are ${MAX_NOTES_PER_REQUEST} notes already, which is all that fits`,
    {
      details: { limit: MAX_NOTES_PER_REQUEST },
    },
  );
}

function recordReview(
  { tx, request, context }: ReviewContext,
  event: string,
  more: { organizationId?: string; details?: Record<string, unknown> } = {},
): Promise<void> {
  return recordAuditEvent(tx, {
    action: `account_request.${event}`,
    subject: toTypedId("arq", request.id),
    ...context,
    organizationId: more.organizationId ?? request.organizationId,
    details: more.details ?? { email: request.email },
  });
}

const statusText: Readonly<Record<AccountRequestStatus, string>> = {
  pending: "waits for an operator",
  asked: "waits for the person's answer",
  approved: "was approved already",
  registered: "was approved already, and the person has registered",
  rejected: "was rejected already",
};

function requireStatus({ request }: ReviewContext, statuses: readonly AccountRequestStatus[]): void {
  if (statuses.includes(request.status)) return;
  const by = request.decidedBy === null ? "" : ` by ${request.decidedBy}`;
  throw conflictError(`The request ${statusText[request.status]}${by}`);
}

function conflictError(sentence: string): AppError {
  return new AppError("ConflictException", sentence);
}

/** The field is known, so that the form can point at it. */
function nameTakenError(name: string): AppError {
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
