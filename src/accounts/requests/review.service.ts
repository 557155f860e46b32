/** Operators' decisions on account requests. Each change commits together with its mail and its audit entry. */
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
 * `id`: typed. The caller must check that the principal is an operator. Throws NotFoundException for an unknown request,
 * ConflictException if its status doesn't allow the action, BadRequestException for an invalid text.
 */
export interface ReviewService {
  /** Creates the organisation, with the requested name or `organizationName`, and mails the registration link. */
  approve(context: AuditContext, id: string, organizationName?: string | null): Promise<AccountRequestView>;
  reject(context: AuditContext, id: string, reason: string): Promise<AccountRequestView>;
  /** Mails a question with a link to answer it. A further question invalidates the previous link. */
  askQuestion(context: AuditContext, id: string, question: string): Promise<AccountRequestView>;
  /** Adds a note that only operators see, in any status. */
  addNote(context: AuditContext, id: string, text: string): Promise<AccountRequestView>;
  /** Mails a new registration link and invalidates the previous one. */
  resendRegistration(context: AuditContext, id: string): Promise<AccountRequestView>;
}

export interface ReviewDeps {
  database: Database;
  clock: Clock;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  /** Returns the URL of a console page. */
  pageUrl: (path: string) => string;
}

const ANSWER_LIFETIME_MS = 14 * 86_400_000;

/** A request whose row is locked. */
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
  /** The operator's display name. */
  readonly reviewerName: string;
}

export function createReviewService(deps: ReviewDeps): ReviewService {
  const runReview = (context: AuditContext, id: string, action: (review: ReviewContext) => Promise<void>) =>
    deps.database.transaction(async (tx) => {
      const request = await lockRequest(tx, id);
      await action({ tx, request, context, reviewerName: await actorDisplayName(tx, context.actor) });
      return (await accountRequestsByIds(tx, [request.id]))[0] as AccountRequestView;
    });

  return {
    approve: (context, id, name) => runReview(context, id, (review) => approve(deps, review, name ?? null)),
    reject: (context, id, text) => runReview(context, id, (review) => reject(deps, review, text)),
    askQuestion: (context, id, text) => runReview(context, id, (review) => askQuestion(deps, review, text)),
    addNote: (context, id, text) =>
      runReview(context, id, async (review) => {
        await addReviewNote(review, "note", parseOrThrow(freeText, text, "text"));
        await recordReview(review, "noted");
      }),
    resendRegistration: (context, id) =>
      runReview(context, id, async (review) => {
        requireStatus(review, ["approved"]);
        await sendRegistration(deps, review, await findOrganizationName(review));
        await recordReview(review, "registration_resent");
      }),
  };
}

async function approve(deps: ReviewDeps, review: ReviewContext, otherName: string | null): Promise<void> {
  const { tx, request } = review;
  requireStatus(review, ["pending", "asked"]);
  if (await hasAccount(tx, request.email))
    throw conflictError(
      "An account with this e-mail address already exists. Reject the request, or ask for another e-mail address.",
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

/** Locks the row, so that of two concurrent decisions the second sees the first. Throws NotFoundException. */
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
  // An open question no longer needs an answer.
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
  throw new AppError("ConflictException", `A request can have at most ${MAX_NOTES_PER_REQUEST} notes`, {
    details: { limit: MAX_NOTES_PER_REQUEST },
  });
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
  pending: "is waiting for an operator's decision",
  asked: "is waiting for the requester's answer",
  approved: "was already approved",
  registered: "was already approved, and its account created",
  rejected: "was already rejected",
};

function requireStatus({ request }: ReviewContext, statuses: readonly AccountRequestStatus[]): void {
  if (statuses.includes(request.status)) return;
  const by = request.decidedBy === null ? "" : ` by ${request.decidedBy}`;
  throw conflictError(`The request ${statusText[request.status]}${by}`);
}

function conflictError(message: string): AppError {
  return new AppError("ConflictException", message);
}

/** Names the field, so that the form can highlight it. */
function nameTakenError(name: string): AppError {
  const problem: Problem = {
    location: "body",
    field: "organizationName",
    code: "conflict",
    message: `is taken: an organisation named "${name}" already exists. Choose another name.`,
  };
  return new AppError("ConflictException", `An organisation named "${name}" already exists`, {
    details: [problem],
  });
}
