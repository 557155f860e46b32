/** Lists account requests, and lets operators review them. */
import {
  accountRequestCursor,
  type AccountRequestStatus,
  type AccountRequestView,
  countAccountRequests,
  listAccountRequests,
  readAccountRequestCursor,
  type ReviewService,
} from "../../accounts/api.ts";
import type { AuditContext } from "../../audit/api.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { auditContext, requireOperator } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import type {
  AccountRequestResolvers,
  MutationResolvers,
  QueryResolvers,
} from "../generated/schema-types.ts";
import {
  toAccountRequestNode,
  toAccountRequestNoteNode,
  type AccountRequestNode,
} from "../nodes/account-request.node.ts";
import { pageRequest, readCursor, toConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";
import { withUserErrors } from "../user-errors.ts";

export const accountRequestQueries: Pick<QueryResolvers, "accountRequests"> = {
  async accountRequests(_root, { status, ...args }, context, info) {
    requireOperator(context, "webhooks:manage");
    const page = pageRequest(args);
    const after = readCursor(page, readAccountRequestCursor);
    const statuses = status?.map((name) => name.toLowerCase() as AccountRequestStatus);
    const [{ items, hasMore }, totalCount] = await Promise.all([
      listAccountRequests(context.database, { statuses, limit: page.limit, after }),
      selectionOf(info).has("totalCount") ? countAccountRequests(context.database, { statuses }) : 0,
    ]);
    const connection = toConnection({
      items,
      hasNext: hasMore,
      hasPrevious: after !== null,
      toNode: toAccountRequestNode,
      cursorOf: accountRequestCursor,
    });
    return Object.assign(connection, { totalCount });
  },
};

export const accountRequest: AccountRequestResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.organizations.load(organizationId),
  warnings: (node, _args, { loaders }) => loaders.accountRequestWarnings.load(uuidOf(node)),
  notes: async (node, _args, { loaders }) =>
    (await loaders.accountRequestNotes.load(uuidOf(node))).map(toAccountRequestNoteNode),
};

type ReviewMutations = Pick<
  MutationResolvers,
  | "approveAccountRequest"
  | "rejectAccountRequest"
  | "askAccountRequestQuestion"
  | "addAccountRequestNote"
  | "resendRegistration"
>;

export const reviewMutations: ReviewMutations = {
  approveAccountRequest: (_root, { id, organizationName }, context) =>
    review(context, (reviews, audit) => reviews.approve(audit, id, organizationName)),
  rejectAccountRequest: (_root, { id, reason }, context) =>
    review(context, (reviews, audit) => reviews.reject(audit, id, reason)),
  askAccountRequestQuestion: (_root, { id, question }, context) =>
    review(context, (reviews, audit) => reviews.askQuestion(audit, id, question)),
  addAccountRequestNote: (_root, { id, text }, context) =>
    review(context, (reviews, audit) => reviews.addNote(audit, id, text)),
  resendRegistration: (_root, { id }, context) =>
    review(context, (reviews, audit) => reviews.resendRegistration(audit, id)),
};

function review(
  context: GraphqlContext,
  work: (reviews: ReviewService, audit: AuditContext) => Promise<AccountRequestView>,
) {
  const operator = requireOperator(context, "webhooks:manage");
  return withUserErrors({ fields: "", subject: "id" }, { accountRequest: null }, async () => ({
    accountRequest: toAccountRequestNode(
      await work(context.services.reviews, auditContext(context, operator)),
    ),
  }));
}

/** The ID of a node is always valid. */
function uuidOf({ id }: AccountRequestNode): string {
  return fromTypedId("arq", id) as string;
}
