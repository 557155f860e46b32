/** The operations of the request log: any key of the organisation may read it. */
import { z } from "zod";
import { problemIn } from "../core/errors.ts";
import {
  type Access,
  type RestOperation,
  restOperation,
  type OwnErrorText,
} from "../operations/operation.ts";
import {
  cursorPagination,
  cursorParameter,
  dateTime,
  idSchema,
  MALFORMED_CURSOR,
  none,
  optionalParameter,
  pageSizeParameter,
  requestIdSchema,
  text,
} from "../operations/schemas.ts";
import { requestLogCursor, requestOutcomes } from "./read.sql.ts";
import type { RequestLog } from "./service.ts";

interface Services {
  readonly requests: Pick<RequestLog, "list" | "get">;
}

const tag = "Account";
const anyKey: Access = { scopes: [] };
const ACCESS =
  "Any key of the organization may read them. A key without `jobs:read` gets no bodies, and `***` for the Marking Numbers of paths.";

const exampleEntry = {
  requestId: "req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
  at: "2026-11-21T09:15:42.318Z",
  method: "PATCH",
  path: "/v1/jobs/by-marking/MN-2026-000123",
  status: 400,
  durationMs: 4.2,
  errorCode: "BadRequestException",
  keyId: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  keyName: "Warehouse sync",
  requestBody: '{"weight":"heavy"}',
  responseBody: null,
  simulated: null,
};

const body = (what: string) =>
  text(
    `First 4 KiB of the ${what} body, only of failed requests and for keys with \`jobs:read\`. Personal data is masked`,
    '{"weight":"heavy"}',
  ).nullable();

const entry = z
  .object({
    requestId: requestIdSchema.meta({
      ...requestIdSchema.meta(),
      description: "Request ID, as in the response",
    }),
    at: dateTime("Time at which the request arrived", exampleEntry.at),
    method: text("HTTP method", "PATCH"),
    path: text(
      "Path without the query. For keys without `jobs:read`, Marking Numbers are masked",
      exampleEntry.path,
    ),
    status: z.int().meta({
      description: "HTTP status. 499: the connection was closed before the response",
      examples: [400],
    }),
    durationMs: z.number().meta({ description: "Duration in milliseconds", examples: [4.2] }),
    errorCode: text("Error code; null on success", "BadRequestException").nullable(),
    keyId: idSchema("key", "Key ID", exampleEntry.keyId),
    keyName: text("Name of the key; null if the key no longer exists", "Warehouse sync").nullable(),
    requestBody: body("request"),
    responseBody: body("response"),
    simulated: text("The `X-Waymark-Simulate` header that was applied; null if none", "503").nullable(),
  })
  .meta({ id: "RequestLogEntry", description: "A request made with an API key of the organization." });

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
  access: anyKey,
  rate: "read",
  fresh: false,
  params: none,
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
      items: z.array(entry).meta({ description: "The requests, newest first" }),
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
    return { items: [...items], pagination: { pageSize, nextCursor } };
  },
});

const getRequest = restOperation({
  name: "getRequest",
  rest: { method: "get", path: "/requests/{request_id}" },
  access: anyKey,
  rate: "read",
  fresh: false,
  params: z.object({
    request_id: z.string().meta({ description: "Request ID", examples: [exampleEntry.requestId] }),
  }),
  input: none,
  output: entry,
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

export const requestLogOperations: readonly RestOperation<Services>[] = [listRequests, getRequest];
