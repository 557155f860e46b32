/** The mail outbox, for operators. */
import { mailCursor, redactLinks } from "../../../mail/api.ts";
import { requireAdministrator, requirePrincipal } from "../authorize.ts";
import type { MailResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { isSessionPrincipal } from "../authenticated-principal.ts";
import { listConnection } from "../pagination.ts";

export const mailQueries: QueryResolvers = {
  async mailOutbox(_root, { status, ...args }, context) {
    requireAdministrator(context);
    return await listConnection(args, {
      cursor: mailCursor,
      list: (page) => context.services.mails.list(context.database, { status: status ?? undefined, ...page }),
      toNode: (view) => view,
    });
  },
};

export const mail: MailResolvers = {
  /** Links can start a session as the recipient, so API keys get the text without them. */
  text: ({ text }, _args, context) =>
    isSessionPrincipal(requirePrincipal(context)) ? text : redactLinks(text),
};
