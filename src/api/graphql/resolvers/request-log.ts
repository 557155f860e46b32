/** The request log and the daily usage of an organisation. */
import { AppError } from "../../../core/errors.ts";
import { requestLogCursor } from "../../../request-log/api.ts";
import { requireLogReader, requireManager } from "../authorize.ts";
import { invalidArgument } from "../arguments.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";
import { listConnection } from "../pagination.ts";

const MAX_DAYS = 30;

export const requestLogQueries: QueryResolvers = {
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
};
