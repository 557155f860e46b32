/** The mail outbox, for operators. */
import { mailCursor, readMailCursor } from "../../mail/api.ts";
import { auditContext, requireOperator } from "../authorize.ts";
import type { MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { toMailNode } from "../nodes/mail.node.ts";
import { pageRequest, readCursor, toConnection } from "../pagination.ts";
import { withUserErrors } from "../user-errors.ts";

export const mailQueries: Pick<QueryResolvers, "mailOutbox"> = {
  async mailOutbox(_root, { status, ...args }, context) {
    const operator = requireOperator(context, "webhooks:manage");
    const page = pageRequest(args);
    const after = readCursor(page, readMailCursor);
    const { items, hasNext } = await context.services.mails.list(context.database, {
      status: status ? (status.toLowerCase() as Lowercase<typeof status>) : undefined,
      limit: page.limit,
      afterId: after ?? undefined,
    });
    return toConnection({
      items,
      hasNext,
      hasPrevious: after !== null,
      toNode: (view) => toMailNode(view, operator),
      cursorOf: mailCursor,
    });
  },
};

export const mailMutations: Pick<MutationResolvers, "resendMail"> = {
  resendMail(_root, { id }, context) {
    const operator = requireOperator(context, "webhooks:manage");
    return withUserErrors({ fields: "", subject: "id" }, { mail: null }, async () => ({
      mail: toMailNode(await context.services.mails.resend(auditContext(context, operator), id), operator),
    }));
  },
};
