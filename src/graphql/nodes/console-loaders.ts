/** Loaders of what only signed-in users and operators may read: audit entries, mails, invitations and saved views. */
import type DataLoader from "dataloader";
import type { InvitationService, SavedViewDto, SavedViewService } from "../../accounts/api.ts";
import { listAuditEntries } from "../../audit/api.ts";
import type { MailService } from "../../mail/api.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import {
  canManageMembers,
  canReadAuditLog,
  canReadMails,
  isSessionPrincipal,
  type AuthenticatedPrincipal,
} from "../principal.ts";
import { toAuditEntryNode, type AuditEntryNode } from "./audit-entry.node.ts";
import { alignToIds, createLoader } from "./create-loader.ts";
import { toInvitationNode, type InvitationNode } from "./invitation.node.ts";
import { toMailNode, type MailNode } from "./mail.node.ts";

/** Loaders by UUID. They return null for rows that do not exist or that the principal may not see. */
export interface ConsoleLoaders {
  readonly auditEntries: DataLoader<string, AuditEntryNode | null>;
  readonly mails: DataLoader<string, MailNode | null>;
  readonly invitations: DataLoader<string, InvitationNode | null>;
  readonly savedViews: DataLoader<string, SavedViewDto | null>;
}

interface ConsoleLoaderDeps {
  readonly requirePrincipal: () => AuthenticatedPrincipal;
  readonly database: Queryable;
  readonly mails: Pick<MailService, "list">;
  readonly invitations: Pick<InvitationService, "list">;
  readonly views: Pick<SavedViewService, "list">;
}

export function createConsoleLoaders(deps: ConsoleLoaderDeps): ConsoleLoaders {
  const { requirePrincipal, database } = deps;
  return {
    auditEntries: createLoader(async (ids) => {
      const principal = requirePrincipal();
      if (!canReadAuditLog(principal)) return ids.map(() => null);
      const request = { ids, limit: ids.length, after: null };
      const { items } = await listAuditEntries(database, principal, request);
      return alignToIds("aud", ids, items.map(toAuditEntryNode));
    }),
    mails: createLoader(async (ids) => {
      const principal = requirePrincipal();
      if (!canReadMails(principal)) return ids.map(() => null);
      const { items } = await deps.mails.list(database, { ids, limit: ids.length });
      return alignToIds(
        "eml",
        ids,
        items.map((view) => toMailNode(view, principal)),
      );
    }),
    invitations: createLoader(async (ids) => {
      const principal = requirePrincipal();
      // At most 100 are pending.
      const views = canManageMembers(principal) ? await deps.invitations.list(principal, database) : [];
      return alignToIds("inv", ids, views.map(toInvitationNode));
    }),
    savedViews: createLoader(async (ids) => {
      const principal = requirePrincipal();
      // At most 50 per user.
      const views = isSessionPrincipal(principal) ? await deps.views.list(principal.user.id, database) : [];
      return alignToIds("viw", ids, views);
    }),
  };
}
