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
import { withAccess } from "../authorize.ts";
import type { Resolvers } from "../generated/schema-types.ts";
import {
  organizationUuid,
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
import { Selection } from "../execution/selection.ts";
import { limits } from "../execution/limits.ts";

export const accountResolvers: Resolvers = {
  Query: withAccess({
    async members(_root, _args, { principal, services, database }) {
      return (await services.members.list(memberGroupOf(principal), database)).map(toUserNode);
    },
    async invitations(_root, _args, { principal, services, database }) {
      return (await services.invitations.list(principal, database)).map(toInvitationNode);
    },
    singleSignOn: (_root, _args, { principal, services }) => services.sso.view(principal),

    async accountRequests(_root, { status, ...args }, { database }, info) {
      const filter = { statuses: status ?? undefined };
      const hasTotal = new Selection(info).has("totalCount");
      return await listConnection(args, {
        cursor: accountRequestCursor,
        async list(page) {
          const [listed, total] = await Promise.all([
            listAccountRequests(database, { ...filter, ...page }),
            hasTotal ? countAccountRequests(database, filter) : null,
          ]);
          return { ...listed, total };
        },
        toNode: toAccountRequestNode,
      });
    },

    async savedViews(_root, _args, { principal, services, database }) {
      invariant(isSessionPrincipal(principal), "the access of the field is a user's");
      return (await services.views.list(principal, database)).map(toSavedViewNode);
    },

    notifications: (_root, _args, { principal, services, database }) =>
      services.notifications.view(notifiedUser(principal), database),

    async auditLog(_root, { actions, organizationId, ...args }, { principal, database }) {
      const filter = {
        actions: actions ?? undefined,
        organizationId:
          typeof organizationId === "string" ? organizationUuid("organizationId", organizationId) : undefined,
      };
      return await listConnection(args, {
        cursor: auditCursor,
        list: (page) => listAuditEntries(database, principal, { ...filter, ...page }),
        toNode: toAuditEntryNode,
      });
    },

    async mailOutbox(_root, { status, ...args }, { services, database }) {
      return await listConnection(args, {
        cursor: mailCursor,
        list: (page) => services.mails.list(database, { status: status ?? undefined, ...page }),
        toNode: (view) => view,
      });
    },

    async apiKeys(_root, { mode }, { principal, services, database }) {
      const keys = await services.keys.listFor(principal, database, listedMode(principal, mode));
      return keys.map(toApiKeyView);
    },

    async requestLog(_root, { requestId, status, keyId, ...args }, { principal, services, database }) {
      const filter = {
        requestId: requestId ?? undefined,
        outcome: status ?? undefined,
        keyId: keyId ?? undefined,
      };
      return await listConnection(args, {
        cursor: requestLogCursor,
        list: (page) => services.requests.list(principal, { filter, ...page }, database),
        toNode: (view) => view,
      });
    },

    usage: (_root, { days }, { principal, services, database }) =>
      services.requests.usage(principal, days, database),

    viewer: (_root, _args, { principal }) => principal,
  }),
  AccountRequest: {
    organization: ({ organizationId }, _args, { loaders }) =>
      organizationId === null ? null : loaders.load("organizations", organizationId),
    warnings: ({ id }, _args, { loaders }) => loaders.load("accountRequestWarnings", uuidOf("arq", id)),
    notes: ({ id }, _args, { loaders }) => loaders.load("accountRequestNotes", uuidOf("arq", id)),
  },
  AuditEntry: {
    organization: ({ organizationId }, _args, { loaders }) =>
      organizationId === null ? null : loaders.load("organizations", organizationId),
  },
  SavedView: {
    owner: ({ ownerId }, _args, { loaders }) => loaders.load("users", ownerId),
  },
  Mail: {
    /** Links can start a session as the recipient, so API keys get the text without them. */
    text: ({ text }, _args, { principal }) => (isSessionPrincipal(principal) ? text : redactLinks(text)),
  },
  Viewer: {
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
  },
};
