/** The operations of the request log: any key of the organisation may read it. */
import { z } from "zod";
import { problemIn } from "../core/errors.ts";
import {
  type Access,
  type AccessSubject,
  administrator,
  anyone,
  type RestOperation,
  restOperation,
  type OwnErrorText,
} from "../operations/operation.ts";
import {
  cursorPagination,
  cursorParameter,
  MALFORMED_CURSOR,
  optionalParameter,
  pageSizeParameter,
} from "../operations/schemas.ts";
import { requestLogCursor } from "./read.sql.ts";
import type { RequestLog } from "./service.ts";
import { exampleEntry, requestLogEntry, requestOutcomes } from "./view.ts";

interface Services {
  readonly requests: Pick<RequestLog, "list" | "get">;
}

const tag = "Account";
const ACCESS =
  "Any key of the organization may read them. A key without `jobs:read` gets no bodies, and `***` for the Marking Numbers of paths.";

const unknownRequest: OwnErrorText = {
  description: "The log has no request of your organization with this ID.",
  examples: [
    {
      summary: "Unknown, or no longer in the log",
      message: "There is no such request in the log. Requests appear within seconds and are kept for 30 days",
    },
  ],
};

const listRequests = restOperation({
  name: "listRequests",
  rest: { method: "get", path: "/requests" },
  access: anyone,
  rate: "read",
  fresh: false,
  input: z.object({
    outcome: optionalParameter(
      z.enum(requestOutcomes, { error: `must be one of ${requestOutcomes.join(", ")}` }),
      "Only requests with this outcome: status 2xx or 3xx, 4xx, or 5xx.",
      "failed",
    ),
    keyId: optionalParameter(z.string(), "Only requests made with this key.", exampleEntry.keyId),
    pageSize: pageSizeParameter,
    cursor: cursorParameter((cursor) => requestLogCursor.decode(cursor), { code: "malformed" }),
  }),
  output: z
    .object({
      items: z.array(requestLogEntry).meta({ description: "The requests, newest first" }),
      pagination: cursorPagination,
    })
    .meta({ id: "RequestLog" }),
  text: {
    tag,
    summary: "List your requests",
    description: `The requests made with your organization's API keys, newest first. Requests appear within seconds and are kept for 30 days
by default.

${ACCESS}`,
    result: {
      description: "A page of requests.",
      examples: {
        "A failed request": { items: [exampleEntry], pagination: { pageSize: 10, nextCursor: null } },
      },
    },
    malformed: [
      {
        summary: "An unknown outcome",
        problems: [
          problemIn("query")("outcome", "invalid_value", "must be one of succeeded, refused, failed"),
        ],
      },
      {
        summary: "A cursor of another list",
        problems: [problemIn("query")("cursor", "malformed", MALFORMED_CURSOR)],
      },
    ],
  },
  async run({ requests }: Services, principal, { pageSize, cursor, ...filter }) {
    const after = cursor === undefined ? null : requestLogCursor.decode(cursor);
    const { items, hasMore } = await requests.list(principal, { filter, limit: pageSize, after });
    const last = items.at(-1);
    const nextCursor = hasMore && last ? requestLogCursor.encode(last) : null;
    return { items, pagination: { pageSize, nextCursor } };
  },
});

const getRequest = restOperation({
  name: "getRequest",
  rest: { method: "get", path: "/requests/{request_id}" },
  access: anyone,
  rate: "read",
  fresh: false,
  params: z.object({
    request_id: z.string().meta({ description: "Request ID", examples: [exampleEntry.requestId] }),
  }),
  output: requestLogEntry,
  text: {
    tag,
    summary: "Get one of your requests",
    description: `The request with this ID, which every response has as \`request_id\` and \`X-Request-Id\`.

${ACCESS}`,
    result: { description: "The request.", examples: { "A failed request": exampleEntry } },
    ownErrors: { NotFoundException: unknownRequest },
  },
  run: ({ requests }: Services, principal, { request_id: id }) => requests.get(principal, id),
});

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const requestLogAccess = {
  requestLog({ organizationId, user }: AccessSubject): Access {
    if (organizationId === null) return administrator;
    return user ? { scopes: ["webhooks:manage"] } : anyone;
  },
  usage: { scopes: ["webhooks:manage"] } satisfies Access,
};

export const requestLogOperations: readonly RestOperation<Services>[] = [listRequests, getRequest];
