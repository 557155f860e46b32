/** Requests for an account, and what operators do with them. */
import {
  countRequests,
  listRequests,
  readRequestCursor,
  requestCursor,
  type RequestView,
} from "../../accounts/request.queries.ts";
import type { RequestStatus } from "../../accounts/request.entity.ts";
import type { ActContext } from "../../accounts/audit.service.ts";
import type { ReviewService } from "../../accounts/review.service.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { actContext, operatorOf } from "../access.ts";
import type { GraphqlContext } from "../context.ts";
import type {
  AccountRequestResolvers,
  MutationResolvers,
  QueryResolvers,
} from "../generated/schema-types.ts";
import { toAccountRequestNode, toNoteNode, type AccountRequestNode } from "../nodes/account-request.node.ts";
import { pageRequest, readCursor, toConnection } from "../paging.ts";
import { selectedBelow } from "../selection.ts";
import { orUserErrors } from "../user-errors.ts";

export const accountRequestQueries: Pick<QueryResolvers, "accountRequests"> = {
  async accountRequests(_root, { status, ...args }, context, info) {
    operatorOf(context, "webhooks:manage");
    const page = pageRequest(args);
    const after = readCursor(page, readRequestCursor);
    const statuses = status?.map((one) => one.toLowerCase() as RequestStatus);
    const [{ items, hasMore }, totalCount] = await Promise.all([
      listRequests(context.database, { statuses, limit: page.limit, after }),
      selectedBelow(info).has("totalCount") ? countRequests(context.database, { statuses }) : 0,
    ]);
    const connection = toConnection({
      items,
      hasNext: hasMore,
      hasPrevious: after !== null,
      toNode: toAccountRequestNode,
      cursorOf: requestCursor,
    });
    return Object.assign(connection, { totalCount });
  },
};

export const accountRequest: AccountRequestResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.organizations.load(organizationId),
  warnings: (node, _args, { loaders }) => loaders.requestWarnings.load(uuidOf(node)),
  notes: async (node, _args, { loaders }) => (await loaders.requestNotes.load(uuidOf(node))).map(toNoteNode),
};

type ReviewMutations = Pick<
  MutationResolvers,
  | "approveAccountRequest"
  | "rejectAccountRequest"
  | "askAccountRequest"
  | "noteAccountRequest"
  | "resendRegistration"
>;

export const reviewMutations: ReviewMutations = {
  approveAccountRequest: (_root, { id, organizationName }, context) =>
    review(context, (reviews, act) => reviews.approve(act, id, organizationName)),
  rejectAccountRequest: (_root, { id, reason }, context) =>
    review(context, (reviews, act) => reviews.reject(act, id, reason)),
  askAccountRequest: (_root, { id, question }, context) =>
    review(context, (reviews, act) => reviews.ask(act, id, question)),
  noteAccountRequest: (_root, { id, text }, context) =>
    review(context, (reviews, act) => reviews.note(act, id, text)),
  resendRegistration: (_root, { id }, context) =>
    review(context, (reviews, act) => reviews.resendRegistration(act, id)),
};

function review(
  context: GraphqlContext,
  work: (reviews: ReviewService, act: ActContext) => Promise<RequestView>,
) {
  const operator = operatorOf(context, "webhooks:manage");
  return orUserErrors({ fields: "", subject: "id" }, { accountRequest: null }, async () => ({
    accountRequest: toAccountRequestNode(await work(context.services.reviews, actContext(context, operator))),
  }));
}

/** Of an id that we have written ourselves. */
function uuidOf({ id }: AccountRequestNode): string {
  return fromTypedId("arq", id) as string;
}
