/** The principal and its organisation: members, account requests, keys, saved views, audit log, request log and mails. */
import { requireScope, toApiKeyView } from "../../../api-keys/api.ts";
import { accountRequestCursor, countAccountRequests, listAccountRequests } from "../../../accounts/api.ts";
import { auditCursor, listAuditEntries } from "../../../audit/api.ts";
import { mailCursor, redactLinks } from "../../../mail/api.ts";
import { AppError } from "../../../core/errors.ts";
import { requestLogCursor } from "../../../request-log/api.ts";
import { hasTestOrganizations } from "../../../organizations/api.ts";
import { isTestPrincipal, partnerOf } from "../../../core/principal.ts";
import { rateLimitsOf } from "../../../rate-limits/api.ts";
import { readFirstSteps } from "../../../test-mode/api.ts";
import {
  requireAdministrator,
  requireKeyManager,
  requireLogReader,
  requireManager,
  requireOwner,
  requirePrincipal,
  requireUser,
} from "../authorize.ts";
import type {
  AccountRequestResolvers,
  AuditEntryResolvers,
  MailResolvers,
  QueryResolvers,
  ViewerResolvers,
} from "../generated/schema-types.ts";
import {
  toAccountRequestNode,
  toAuditEntryNode,
  toInvitationNode,
  toSavedViewNode,
  toUserNode,
  uuidOf,
} from "../nodes.ts";
import {
  type AuthenticatedPrincipal,
  canViewMembers,
  isSessionPrincipal,
  listedMode,
  memberGroupOf,
  rateLimitSubjectOf,
} from "../authenticated-principal.ts";
import { listConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument, organizationUuid } from "../arguments.ts";
import { limits } from "../execution/limits.ts";

export const accountQueries: QueryResolvers = {
  async members(_root, _args, context) {
    const principal = requirePrincipal(context);
    if (!canViewMembers(principal)) requireScope(principal, "webhooks:manage");
    const members = await context.services.members.list(memberGroupOf(principal), context.database);
    return members.map(toUserNode);
  },
  async invitations(_root, _args, context) {
    const { organizationId } = requireOwner(context);
    const invitations = await context.services.invitations.list({ organizationId }, context.database);
    return invitations.map(toInvitationNode);
  },

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

  async savedViews(_root, _args, context) {
    const views = await context.services.views.list(requireUser(context).user.id, context.database);
    return views.map(toSavedViewNode);
  },

  async auditLog(_root, { actions, organizationId, ...args }, context) {
    const reader = requireAuditReader(context);
    for (const [index, action] of (actions ?? []).entries())
      if (!ACTION_PATTERN.test(action))
        throw invalidArgument(`actions.${index}`, "must be an action such as `member.removed`");
    const filter = {
      actions: actions ?? undefined,
      organizationId: readableOrganization(organizationId ?? null, reader),
    };
    return await listConnection(args, {
      cursor: auditCursor,
      list: (page) => listAuditEntries(context.database, reader, { ...filter, ...page }),
      toNode: toAuditEntryNode,
    });
  },

  async mailOutbox(_root, { status, ...args }, context) {
    requireAdministrator(context);
    return await listConnection(args, {
      cursor: mailCursor,
      list: (page) => context.services.mails.list(context.database, { status: status ?? undefined, ...page }),
      toNode: (view) => view,
    });
  },

  async apiKeys(_root, { mode }, context) {
    const principal = requireKeyManager(context);
    const listed = listedMode(principal, mode);
    const keys = await context.services.keys.listFor(principal, context.database, listed);
    return keys.map(toApiKeyView);
  },

  async requestLog(_root, { requestId, status, keyId, ...args }, context) {
    const principal = requireLogReader(context);
    if (principal.organizationId === null && typeof requestId !== "string")
      throw invalidArgument("requestId", "is required for operators, who can only look up single requests");
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
    const { organizationId } = requireManager(context);
    if (organizationId === null)
      throw new AppError("ForbiddenException", "Only organisations can do this, not operators");
    if (days < 1 || days > MAX_DAYS) throw invalidArgument("days", `must be from 1 to ${MAX_DAYS}`);
    return await context.services.requests.usage(organizationId, days, context.database);
  },

  viewer: (_root, _args, context) => requirePrincipal(context),
};

export const accountRequest: AccountRequestResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
  warnings: ({ id }, _args, { loaders }) => loaders.load("accountRequestWarnings", uuidOf("arq", id)),
  notes: ({ id }, _args, { loaders }) => loaders.load("accountRequestNotes", uuidOf("arq", id)),
};

const ACTION_PATTERN = /^[a-z_]{1,40}\.[a-z_]{1,40}$/;

export const auditEntry: AuditEntryResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
};

/** Operators may use an API key. Organisations must be signed in as an owner. */
function requireAuditReader(context: GraphqlContext): AuthenticatedPrincipal {
  const { organizationId } = requirePrincipal(context);
  return organizationId === null ? requireAdministrator(context) : requireOwner(context);
}

function readableOrganization(id: string | null, reader: AuthenticatedPrincipal): string | undefined {
  if (id === null) return undefined;
  if (reader.organizationId !== null)
    throw invalidArgument("organizationId", "can only be used by operators of the service");
  return organizationUuid("organizationId", id);
}

export const mail: MailResolvers = {
  /** Links can start a session as the recipient, so API keys get the text without them. */
  text: ({ text }, _args, context) =>
    isSessionPrincipal(requirePrincipal(context)) ? text : redactLinks(text),
};

const MAX_DAYS = 30;

export const viewer: ViewerResolvers = {
  kind: ({ organizationType }) => organizationType ?? "operator",
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
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
