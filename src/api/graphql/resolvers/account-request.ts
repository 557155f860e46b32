/** Lists account requests, and lets operators review them. */
import {
  type AccountRequest,
  accountRequestCursor,
  countAccountRequests,
  listAccountRequests,
  type ReviewService,
} from "../../../accounts/api.ts";
import { requireAdministrator } from "../authorize.ts";
import type {
  AccountRequestResolvers,
  MutationResolvers,
  QueryResolvers,
} from "../generated/schema-types.ts";
import { toAccountRequestNode } from "../nodes/account.node.ts";
import { uuidOf } from "../nodes/node-id.ts";
import { listConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";
import { BY_ID, mutation, type Caller } from "../mutation.ts";
import type { AuthenticatedOperator } from "../authenticated-principal.ts";

export const accountRequestQueries: QueryResolvers = {
  async accountRequests(_root, { status, ...args }, context, info) {
    requireAdministrator(context);
    const filter = { statuses: status ?? undefined };
    const hasTotal = selectionOf(info).has("totalCount");
    return await listConnection(args, {
      cursor: accountRequestCursor,
      async list(page) {
        const [listed, total] = await Promise.all([
          listAccountRequests(context.database, { ...filter, ...page }),
          hasTotal ? countAccountRequests(context.database, filter) : null,
        ]);
        return { ...listed, total };
      },
      toNode: toAccountRequestNode,
    });
  },
};

export const accountRequest: AccountRequestResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
  warnings: ({ id }, _args, { loaders }) => loaders.load("accountRequestWarnings", uuidOf("arq", id)),
  notes: ({ id }, _args, { loaders }) => loaders.load("accountRequestNotes", uuidOf("arq", id)),
};

const review = <Args extends { readonly id: string }>(
  work: (
    reviews: ReviewService,
    caller: Caller<AuthenticatedOperator>,
    args: Args,
  ) => Promise<AccountRequest>,
) =>
  mutation(requireAdministrator, BY_ID, async (caller, args: Args, { services }) => ({
    accountRequest: toAccountRequestNode(await work(services.reviews, caller, args)),
  }));

export const reviewMutations: MutationResolvers = {
  approveAccountRequest: review((reviews, caller, { id, organizationName }) =>
    reviews.approve(caller, id, organizationName),
  ),
  rejectAccountRequest: review((reviews, caller, { id, reason }) => reviews.reject(caller, id, reason)),
  askAccountRequestQuestion: review((reviews, caller, { id, question }) =>
    reviews.askQuestion(caller, id, question),
  ),
  addAccountRequestNote: review((reviews, caller, { id, text }) => reviews.addNote(caller, id, text)),
  resendRegistration: review((reviews, caller, { id }) => reviews.resendRegistration(caller, id)),
};
