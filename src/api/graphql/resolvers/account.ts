/** The principal and its organisation: members, account requests, keys, saved views, audit log, request log and mails. */
import { toApiKeyView } from "../../../api-keys/api.ts";
import { accountRequestCursor, countAccountRequests, listAccountRequests } from "../../../accounts/api.ts";
import { auditCursor, listAuditEntries } from "../../../audit/api.ts";
import { mailCursor, redactLinks } from "../../../mail/api.ts";
import { notifiedUser } from "../../../notifications/operations.ts";
import { invariant } from "../../../core/errors.ts";
import { requestLogCursor } from "../../../request-log/api.ts";
import { hasTestOrganizations } from "../../../organizations/api.ts";
import { isTestPrincipal, partnerOf } from "../../../core/principal.ts";
import { rateLimitsOf } from "../../../rate-limits/api.ts";
import { readFirstSteps } from "../../../test-mode/api.ts";
import { requirePrincipal } from "../authorize.ts";
import type {
  AccountRequestResolvers,
  AuditEntryResolvers,
  MailResolvers,
  QueryResolvers,
  SavedViewResolvers,
  ViewerResolvers,
} from "../generated/schema-types.ts";
import {
  toAccountRequestNode,
  toAuditEntryNode,
  toInvitationNode,
  toOrganizationNode,
  toSavedViewNode,
  toUserNode,
  uuidOf,
} from "../nodes.ts";
import {
  isSessionPrincipal,
  listedMode,
  memberGroupOf,
  rateLimitSubjectOf,
} from "../authenticated-principal.ts";
import { listConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";
import { organizationUuid } from "../arguments.ts";
import { limits } from "../execution/limits.ts";

export const accountQueries: QueryResolvers = {
  async members(_root, _args, context) {
    const principal = requirePrincipal(context);
    const members = await context.services.members.list(memberGroupOf(principal), context.database);
    return members.map(toUserNode);
  },
  async invitations(_root, _args, context) {
    const { organizationId } = requirePrincipal(context);
    const invitations = await context.services.invitations.list({ organizationId }, context.database);
    return invitations.map(toInvitationNode);
  },
  async singleSignOn(_root, _args, context) {
    return await context.services.sso.view(requirePrincipal(context));
  },

  async accountRequests(_root, { status, ...args }, context, info) {
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

  async savedViews(_root, _args, context) {
    const principal = requirePrincipal(context);
    invariant(isSessionPrincipal(principal), "the access of the field is a user's");
    const views = await context.services.views.list(principal, context.database);
    return views.map(toSavedViewNode);
  },

  async notifications(_root, _args, context) {
    const user = notifiedUser(requirePrincipal(context));
    return await context.services.notifications.view(user, context.database);
  },

  async auditLog(_root, { actions, organizationId, ...args }, context) {
    const reader = requirePrincipal(context);
    const filter = {
      actions: actions ?? undefined,
      organizationId:
        typeof organizationId === "string" ? organizationUuid("organizationId", organizationId) : undefined,
    };
    return await listConnection(args, {
      cursor: auditCursor,
      list: (page) => listAuditEntries(context.database, reader, { ...filter, ...page }),
      toNode: toAuditEntryNode,
    });
  },

  async mailOutbox(_root, { status, ...args }, context) {
    return await listConnection(args, {
      cursor: mailCursor,
      list: (page) => context.services.mails.list(context.database, { status: status ?? undefined, ...page }),
      toNode: (view) => view,
    });
  },

  async apiKeys(_root, { mode }, context) {
    const principal = requirePrincipal(context);
    const listed = listedMode(principal, mode);
    const keys = await context.services.keys.listFor(principal, context.database, listed);
    return keys.map(toApiKeyView);
  },

  async requestLog(_root, { requestId, status, keyId, ...args }, context) {
    const principal = requirePrincipal(context);
    const filter = {
      requestId: requestId ?? undefined,
      outcome: status ?? undefined,
      keyId: keyId ?? undefined,
    };
    return await listConnection(args, {
      cursor: requestLogCursor,
      list: (page) => context.services.requests.list(principal, { filter, ...page }, context.database),
      toNode: (view) => view,
    });
  },

  async usage(_root, { days }, context) {
    return await context.services.requests.usage(requirePrincipal(context), days, context.database);
  },

  viewer: (_root, _args, context) => requirePrincipal(context),
};

export const accountRequest: AccountRequestResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
  warnings: ({ id }, _args, { loaders }) => loaders.load("accountRequestWarnings", uuidOf("arq", id)),
  notes: ({ id }, _args, { loaders }) => loaders.load("accountRequestNotes", uuidOf("arq", id)),
};

export const auditEntry: AuditEntryResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
};

export const savedView: SavedViewResolvers = {
  owner: ({ ownerId }, _args, { loaders }) => loaders.load("users", ownerId),
};

export const mail: MailResolvers = {
  /** Links can start a session as the recipient, so API keys get the text without them. */
  text: ({ text }, _args, context) =>
    isSessionPrincipal(requirePrincipal(context)) ? text : redactLinks(text),
};

export const viewer: ViewerResolvers = {
  kind: ({ organizationType }) => organizationType ?? "operator",
  organization: ({ organizationId: id, organizationName: name, organizationType: type }) =>
    id === null ? null : toOrganizationNode({ id, name, type }),
  user: (principal, _args, { loaders }) =>
    isSessionPrincipal(principal) ? loaders.load("users", principal.user.id) : null,
  mode: (principal) => (isTestPrincipal(principal) ? "test" : "live"),
  hasTestMode: (principal, _args, { database }) =>
    principal.organizationId !== null &&
    (isTestPrincipal(principal) || hasTestOrganizations(database, principal.organizationId)),
  firstSteps(principal, _args, { database }) {
    const organizationId = isSessionPrincipal(principal) ? partnerOf(principal) : null;
    return organizationId === null ? null : readFirstSteps(database, organizationId);
  },
  limits: () => limits,
  rateLimits: (principal, _args, { services }) =>
    rateLimitsOf(services.limits, rateLimitSubjectOf(principal)),
};
