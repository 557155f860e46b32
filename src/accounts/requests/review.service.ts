/** Operators' decisions on account requests. Each change commits together with its mail and its audit entry. */
import { LockMode, type EntityManager } from "@mikro-orm/postgresql";
import { insertOrganization, Organization } from "../../organizations/api.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { AppError, type Problem } from "../../core/errors.ts";
import { fromTypedId, toTypedId } from "../../core/ids.ts";
import { actorDisplayName, type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { AccountContext } from "../context.ts";
import { revokeEmailTokens } from "../email-token.service.ts";
import { hasAccount } from "../user.service.ts";
import { AccountRequest, type AccountRequestNoteKind, type AccountRequestStatus } from "./entity.ts";
import { questionMail, rejectionMail } from "./mails.ts";
import { addNote, MAX_NOTES_PER_REQUEST, sendRegistration } from "./service.ts";

/** One change of a request by an operator. */
interface Review {
  readonly em: EntityManager;
  readonly tx: Transaction;
  /** Locked until the transaction ends. */
  readonly request: AccountRequest;
  readonly context: AuditContext;
  /** The operator's display name. */
  readonly reviewerName: string;
}

/**
 * `id`: typed. Throws NotFoundException for an unknown request, and ConflictException if its status doesn't allow the action.
 */
export class ReviewService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /** Creates the organisation, with the requested name or `otherName`, and mails the registration link. */
  approve(context: AuditContext, id: string, otherName?: string): Promise<AccountRequest> {
    return this.#review(context, id, async (review) => {
      const { em, tx, request } = review;
      requireUndecided(request);
      if (await hasAccount(em, request.email))
        throw conflictError(
          "An account with this e-mail address already exists. Reject the request, or ask for another e-mail address.",
        );
      const name = otherName ?? request.organizationName;
      const organizationId = await insertOrganization(em, { name, type: request.organizationType });
      if (organizationId === null) throw nameTakenError(name);
      request.organization = em.getReference(Organization, organizationId);
      await this.#decide(review, "approved");
      await addReviewNote(
        review,
        "approval",
        name === request.organizationName ? "Approved" : `Approved as ${name}`,
      );
      await sendRegistration(this.#context, tx, request, name);
      await recordReview(review, "approved", { email: request.email, organization: name });
    });
  }

  reject(context: AuditContext, id: string, reason: string): Promise<AccountRequest> {
    return this.#review(context, id, async (review) => {
      const { tx, request } = review;
      requireUndecided(request);
      await this.#decide(review, "rejected");
      await addReviewNote(review, "rejection", reason);
      await this.#context.mails.enqueue(tx, rejectionMail(request, reason));
      await recordReview(review, "rejected", { email: request.email, reason });
    });
  }

  /** Mails a question with a link to answer it. A further question invalidates the previous link. */
  askQuestion(context: AuditContext, id: string, question: string): Promise<AccountRequest> {
    const { emailTokens, mails, pageUrl } = this.#context;
    return this.#review(context, id, async (review) => {
      const { tx, request } = review;
      requireUndecided(request);
      request.status = "awaiting_reply";
      await addReviewNote(review, "question", question);
      const { id: subjectId, email } = request;
      const { token } = await emailTokens.issue(tx, { kind: "account_request_answer", subjectId, email });
      await mails.enqueue(tx, questionMail(request, question, pageUrl(`/account-request#token=${token}`)));
      await recordReview(review, "asked");
    });
  }

  /** Adds a note that only operators see, in any status. */
  addNote(context: AuditContext, id: string, text: string): Promise<AccountRequest> {
    return this.#review(context, id, async (review) => {
      await addReviewNote(review, "note", text);
      await recordReview(review, "noted");
    });
  }

  /** Mails a new registration link and invalidates the previous one. */
  resendRegistration(context: AuditContext, id: string): Promise<AccountRequest> {
    return this.#review(context, id, async (review) => {
      const { em, tx, request } = review;
      requireStatus(request, ["approved"]);
      const organization = await em.findOneOrFail(Organization, { id: request.organization?.id ?? null });
      await sendRegistration(this.#context, tx, request, organization.name);
      await recordReview(review, "registration_resent");
    });
  }

  /** Locks the row, so that of two concurrent decisions the second sees the first. */
  #review(
    context: AuditContext,
    typedId: string,
    change: (review: Review) => Promise<void>,
  ): Promise<AccountRequest> {
    return this.#context.database.transactional(async (em, tx) => {
      const id = fromTypedId("arq", typedId);
      const request = await em.findOne(AccountRequest, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (!request) throw new AppError("NotFoundException", "There is no such request");
      const reviewerName = await actorDisplayName(em, context.actor);
      await change({ em, tx, request, context, reviewerName });
      return request;
    });
  }

  async #decide({ em, tx, request, reviewerName }: Review, status: "approved" | "rejected"): Promise<void> {
    const decidedAt = new Date(this.#context.clock.now());
    em.assign(request, { status, decidedBy: reviewerName, decidedAt });
    // An open question no longer needs an answer.
    await revokeEmailTokens(tx, "account_request_answer", request.id);
  }
}

async function addReviewNote(
  { em, request, reviewerName }: Review,
  kind: AccountRequestNoteKind,
  text: string,
): Promise<void> {
  if (await addNote(em, { request, kind, by: reviewerName, text })) return;
  throw new AppError("ConflictException", `A request can have at most ${MAX_NOTES_PER_REQUEST} notes`, {
    details: { limit: MAX_NOTES_PER_REQUEST },
  });
}

async function recordReview(
  { em, request, context }: Review,
  event: string,
  details: Record<string, unknown> = { email: request.email },
): Promise<void> {
  await recordAuditEvent(em, {
    action: `account_request.${event}`,
    subject: toTypedId("arq", request.id),
    ...context,
    organizationId: request.organization?.id ?? null,
    details,
  });
}

const statusText: Readonly<Record<AccountRequestStatus, string>> = {
  pending: "is waiting for an operator's decision",
  awaiting_reply: "is waiting for the requester's answer",
  approved: "was already approved",
  registered: "was already approved, and its account created",
  rejected: "was already rejected",
};

function requireUndecided(request: AccountRequest): void {
  requireStatus(request, ["pending", "awaiting_reply"]);
}

function requireStatus(
  { status, decidedBy }: AccountRequest,
  statuses: readonly AccountRequestStatus[],
): void {
  if (statuses.includes(status)) return;
  throw conflictError(
    `The request ${statusText[status as AccountRequestStatus]}${decidedBy ? ` by ${decidedBy}` : ""}`,
  );
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
