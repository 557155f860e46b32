/** The request log and the daily usage of an organisation. */
import { AppError } from "../../platform/errors.ts";
import { readRequestLogCursor, requestLogCursor } from "../../request-log/api.ts";
import { authorize } from "../authorize.ts";
import { invalidArgument } from "../invalid-argument.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";
import { pageRequest, readCursor, toConnection } from "../pagination.ts";

const MAX_DAYS = 30;

export const requestLogQueries: Pick<QueryResolvers, "requestLog" | "usage"> = {
  async requestLog(_root, { requestId, status, keyId, ...args }, context) {
    const principal = authorize(context, "webhooks:manage");
    if (principal.organizationId === null && typeof requestId !== "string")
      throw invalidArgument("requestId", "is required for operators, who can only look up single requests");
    const page = pageRequest(args);
    const after = readCursor(page, readRequestLogCursor);
    const filter = {
      requestId: requestId ?? undefined,
      outcome: status ? (status.toLowerCase() as Lowercase<typeof status>) : undefined,
      keyId: keyId ?? undefined,
    };
    const request = { filter, limit: page.limit, afterId: after ?? undefined };
    const { items, hasNext } = await context.services.requests.list(principal, request, context.database);
    return toConnection({
      items,
      hasNext,
      hasPrevious: after !== null,
      toNode: (view) => view,
      cursorOf: requestLogCursor,
    });
  },

  async usage(_root, { days }, context) {
    const { organizationId } = authorize(context, "webhooks:manage");
    if (organizationId === null)
      throw new AppError("ForbiddenException", "Only organisations can do this, not operators");
    if (days < 1 || days > MAX_DAYS) throw invalidArgument("days", `must be from 1 to ${MAX_DAYS}`);
    return await context.services.requests.usage(organizationId, days, context.database);
  },
};
