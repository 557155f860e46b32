/** Operators' decisions on account requests. Each change commits together with its mail and its audit entry. */
import { LockMode, type EntityManager } from "@mikro-orm/postgresql";
import { insertOrganization, Organization } from "../../organizations/api.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { AppError, type Problem } from "../../core/errors.ts";
import { fromTypedId, toTypedId } from "../../core/ids.ts";
import { actorDisplayName, type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { AccountContext } from "../context.ts";
import { issueEmailLink, revokeEmailTokens } from "../email-token.service.ts";
import { hasAccount } from "../user.service.ts";
import { AccountRequest, type AccountRequestNoteKind, type AccountRequestStatus } from "./entity.ts";
import { questionMail, rejectionMail } from "./mails.ts";
import { addNote, MAX_NOTES_PER_REQUEST, sendRegistration } from "./service.ts";

interface Review {
  readonly em: EntityManager;
  readonly tx: Transaction;
  /** Locked until the transaction ends. */
  readonly request: AccountRequest;
  /** The operator's display name. */
  readonly by: string;
}

/** The note and the audit details of a review. */
interface ReviewResult {
  readonly note?: { readonly kind: AccountRequestNoteKind; readonly text: string };
  /** Of the audit entry, besides the e-mail address. */
  readonly details?: Readonly<Record<string, unknown>>;
}

const undecided = ["pending", "awaiting_reply"] as const;

/**
 * `id`: typed. Throws NotFoundException for an unknown request, and ConflictException if its status doesn't allow the action, or if
 * it has 200 notes.
 */
export class ReviewService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /** Creates the organisation, with the requested name or `otherName`, and mails the registration link. */
  approve(context: AuditContext, id: string, otherName?: string): Promise<AccountRequest> {
    const rule = { event: "approved", statuses: undecided };
    return this.#review(context, id, rule, async (review) => {
      const { em, tx, request } = review;
      if (await hasAccount(em, request.email))
        throw conflictError(
          "An account with this e-mail address already exists. Reject the request, or ask for another e-mail address.",
        );
      const name = otherName ?? request.organizationName;
      const organizationId = await insertOrganization(em, { name, type: request.organizationType });
      if (organizationId === null) throw nameTakenError(name);
      request.organization = em.getReference(Organization, organizationId);
      await this.#decide(review, "approved");
      await sendRegistration(this.#context, tx, request, name);
      const text = name === request.organizationName ? "Approved" : `Approved as ${name}`;
      return { note: { kind: "approval", text }, details: { organization: name } };
    });
  }

  reject(context: AuditContext, id: string, reason: string): Promise<AccountRequest> {
    const rule = { event: "rejected", statuses: undecided };
    return this.#review(context, id, rule, async (review) => {
      await this.#decide(review, "rejected");
      await this.#context.mails.enqueue(review.tx, rejectionMail(review.request, reason));
      return { note: { kind: "rejection", text: reason }, details: { reason } };
    });
  }

  /** Mails a question with a link to answer it. A further question invalidates the previous link. */
  askQuestion(context: AuditContext, id: string, question: string): Promise<AccountRequest> {
    const rule = { event: "asked", statuses: undecided };
    return this.#review(context, id, rule, async ({ tx, request }) => {
      request.status = "awaiting_reply";
      const subject = {
        kind: "account_request_answer",
        subjectId: request.id,
        email: request.email,
      } as const;
      const { url } = await issueEmailLink(tx, this.#context, subject);
      await this.#context.mails.enqueue(tx, questionMail(request, question, url));
      return { note: { kind: "question", text: question } };
    });
  }

  /** Adds a note that only operators see, in any status. */
  addNote(context: AuditContext, id: string, text: string): Promise<AccountRequest> {
    return this.#review(context, id, { event: "noted" }, () => ({ note: { kind: "note", text } }));
  }

  /** Mails a new registration link and invalidates the previous one. */
  resendRegistration(context: AuditContext, id: string): Promise<AccountRequest> {
    const rule = { event: "registration_resent", statuses: ["approved"] } as const;
    return this.#review(context, id, rule, async ({ em, tx, request }) => {
      const organization = await em.findOneOrFail(Organization, { id: request.organization?.id ?? null });
      await sendRegistration(this.#context, tx, request, organization.name);
      return {};
    });
  }

  /**
   * Locks the row, so that of two concurrent decisions the second sees the first. `event`: the last part of the audit entry's action.
   * `statuses`: those that allow the review; absent: any.
   */
  #review(
    context: AuditContext,
    typedId: string,
    { event, statuses }: { event: string; statuses?: readonly AccountRequestStatus[] },
    change: (review: Review) => ReviewResult | Promise<ReviewResult>,
  ): Promise<AccountRequest> {
    return this.#context.database.transactional(async (em, tx) => {
      const id = fromTypedId("arq", typedId);
      const request = await em.findOne(AccountRequest, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (!request) throw new AppError("NotFoundException", "There is no such request");
      if (statuses) requireStatus(request, statuses);
      const by = await actorDisplayName(em, context.actor);
      const { note, details } = await change({ em, tx, request, by });
      if (note && !(await addNote(em, { request, by, ...note }))) throw tooManyNotesError();
      await recordAuditEvent(em, {
        ...context,
        action: `account_request.${event}`,
        subject: toTypedId("arq", request.id),
        organizationId: request.organization?.id ?? null,
        details: { email: request.email, ...details },
      });
      return request;
    });
  }

  async #decide({ em, tx, request, by }: Review, status: "approved" | "rejected"): Promise<void> {
    em.assign(request, { status, decidedBy: by, decidedAt: new Date(this.#context.clock.now()) });
    // An open question no longer needs an answer.
    await revokeEmailTokens(tx, "account_request_answer", request.id);
  }
}

const statusText: Readonly<Record<AccountRequestStatus, string>> = {
  pending: "is waiting for an operator's decision",
  awaiting_reply: "is waiting for the requester's answer",
  approved: "was already approved",
  registered: "was already approved, and its account created",
  rejected: "was already rejected",
};

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

function tooManyNotesError(): AppError {
  return new AppError("ConflictException", `A request can have at most ${MAX_NOTES_PER_REQUEST} notes`, {
    details: { limit: MAX_NOTES_PER_REQUEST },
  });
}

/** Names the field, so that the form can highlight it. */
function nameTakenError(name: string): AppError {
  const message = `is taken: an organisation named "${name}" already exists. Choose another name.`;
  return new AppError("ConflictException", `An organisation named "${name}" already exists`, {
    details: [{ location: "body", field: "organizationName", code: "conflict", message } satisfies Problem],
  });
}
