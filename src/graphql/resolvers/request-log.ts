/** An organisation's own requests, and what was counted of them. */
import { AppError } from "../../platform/errors.ts";
import { readRequestCursor, requestCursor } from "../../request-log/request-log.service.ts";
import { allowed } from "../access.ts";
import { badArgument } from "../errors.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";
import { pageRequest, readCursor, toConnection } from "../paging.ts";

const MAX_DAYS = 30;

export const requestLogQueries: Pick<QueryResolvers, "requestLog" | "usage"> = {
  async requestLog(_root, { requestId, status, keyId, ...args }, context) {
    const reader = allowed(context, "webhooks:manage");
    if (reader.organizationId === null && typeof requestId !== "string")
      throw badArgument("requestId", "is needed: operators look up a request by its id");
    const page = pageRequest(args);
    const after = readCursor(page, readRequestCursor);
    const filter = {
      requestId: requestId ?? undefined,
      outcome: status ? (status.toLowerCase() as Lowercase<typeof status>) : undefined,
      keyId: keyId ?? undefined,
    };
    const request = { filter, limit: page.limit, afterId: after ?? undefined };
    const { items, hasNext } = await context.services.requests.list(reader, request, context.database);
    return toConnection({
      items,
      hasNext,
      hasPrevious: after !== null,
      toNode: (view) => view,
      cursorOf: requestCursor,
    });
  },

  async usage(_root, { days }, context) {
    const { organizationId } = allowed(context, "webhooks:manage");
    if (organizationId === null) throw new AppError("ForbiddenException", "This is for organisations");
    if (days < 1 || days > MAX_DAYS) throw badArgument("days", `must be from 1 to ${MAX_DAYS}`);
    return await context.services.requests.usage(organizationId, days, context.database);
  },
};
