/** Jobs with their organisations and histories, job statuses and failure reasons. */
import { isDeepStrictEqual } from "node:util";
import {
  type EventAudience,
  type EventDetails,
  type EventWithPosition,
  historyCursor,
  type HistoryPage,
  type HistoryRequest,
  includeHistory,
} from "../../../events/api.ts";
import {
  jobCursor,
  type JobFilterTree,
  type JobOrder,
  orderName,
  readJobCursor,
  validateFilter,
} from "../../../jobs/api.ts";
import { invalidArgument, invariant } from "../../../core/errors.ts";
import { fromTypedId } from "../../../core/ids.ts";
import type { GraphqlContext } from "../context.ts";
import { withAccess } from "../authorize.ts";
import type { JobFilter, JobOrder as JobOrderInput, Resolvers } from "../generated/schema-types.ts";
import {
  type JobEventNode,
  toJobEventNode,
  toJobNode,
  toOrganizationNode,
  organizationUuid,
} from "../nodes.ts";
import { Connection, pageRequest, readCursor, type PageArguments } from "../pagination.ts";
import { Selection } from "../execution/selection.ts";

export const jobResolvers: Resolvers = {
  Query: withAccess({
    async job(_root, { id, markingNumber }, { principal, services, database, loaders }) {
      // An argument that is null counts as absent.
      if ((typeof id === "string") === (typeof markingNumber === "string"))
        throw invalidArgument("", "Give either id or markingNumber");
      if (typeof markingNumber === "string") {
        const [row] = await services.jobs.findByMarkingNumbers(principal, [markingNumber], database);
        return row ? toJobNode(row) : null;
      }
      const uuid = fromTypedId("job", id as string);
      return uuid === null ? null : await loaders.load("jobs", uuid);
    },

    async jobsByMarkingNumber(_root, { markingNumbers }, { principal, services, database }) {
      const rows = await services.jobs.findByMarkingNumbers(principal, markingNumbers, database);
      return rows.map((row) => row && toJobNode(row));
    },

    /** Loads the page and, if selected, its organisations, histories and total with one SQL statement. */
    async jobs(_root, args, context, info) {
      const { principal } = context;
      const { direction, limit, cursor } = pageRequest(args);
      const order = toJobOrder(args.orderBy);
      const position = readCursor({ direction, cursor }, (text) => readPosition(text, order));
      const filter = await checkedFilter(context, args.filter);
      const selection = new Selection(info);
      const history = historySelection(selection.items());
      const extraJoins = history ? includeHistory(history.request, history.details) : undefined;
      const page = { direction, limit, position };
      const query = { filter, order, page, include: { ...selection.include, extraJoins } };
      const reader = context.readerFor(principal);
      const { jobs } = context.services;
      const { search } = filter;
      const hasNumbers = selection.has("listedNumbers");
      const numbers = hasNumbers && search ? await jobs.listedNumbers(principal, search, reader) : null;
      const connection = new Connection({
        ...(await jobs.list(principal, query, reader)),
        toNode(row) {
          const node = toJobNode(row);
          if (history && extraJoins)
            node.prefetchedHistory = { request: history.request, page: extraJoins.read(row) };
          return node;
        },
        cursorOf: (row) => jobCursor(order, row),
      });
      return Object.assign(connection, { listedNumbers: numbers });
    },

    async jobStatuses(_root, _args, { loaders }) {
      return [...(await loaders.statuses()).values()];
    },
    failureReasons: (_root, _args, { services, database }) => services.referenceData.failureReasons(database),
  }),
  Job: {
    async status({ normalizedStatus }, _args, { loaders }) {
      const status = (await loaders.statuses()).get(normalizedStatus);
      invariant(status, "every job status is in the status table");
      return status;
    },
    agent: ({ row }) => toOrganizationNode({ id: row.agent_id, name: row.agent_name ?? "", type: "agent" }),
    contractor: ({ row: { contractor_id: id, contractor_name: name } }) =>
      id === null ? null : toOrganizationNode({ id, name: name ?? "", type: "contractor" }),
    history(node, args, { principal, loaders }) {
      const request = historyRequest(args);
      if (node.prefetchedHistory && isDeepStrictEqual(node.prefetchedHistory.request, request))
        return historyConnection(node.prefetchedHistory.page, request, principal);
      const loaded = loaders.history(node.row.id, request);
      return loaded.then((page) => historyConnection(page, request, principal));
    },
  },
};

/** Returns null if `text` is not a cursor of this list in this order. */
function readPosition(text: string, order: JobOrder) {
  const cursor = readJobCursor(text);
  return cursor && orderName(cursor.order) === orderName(order) ? cursor.position : null;
}

/** Parses a filter. Throws BadRequestException if it is invalid. */
export async function checkedFilter(
  { services }: { readonly services: Pick<GraphqlContext["services"], "referenceData"> },
  filter: JobFilter | null | undefined,
): Promise<JobFilterTree> {
  const checked = parseFilter(filter);
  await validateFilter(services.referenceData, checked);
  return checked;
}

/** `path` is the filter's path in the arguments. Null parts count as absent. Throws BadRequestException for null comparison values. */
function parseFilter(filter: JobFilter | null | undefined, path = "filter"): JobFilterTree {
  const parts = Object.entries(filter ?? {}).filter(([, part]) => part !== null);
  return Object.fromEntries(parts.map(([name, part]) => [name, parsePart(name, part, `${path}.${name}`)]));
}

function parsePart(name: string, part: unknown, path: string): unknown {
  switch (name) {
    case "and":
    case "or":
      return (part as JobFilter[]).map((inner, index) => parseFilter(inner, `${path}.${index}`));
    case "not":
      return parseFilter(part as JobFilter, path);
    case "agentId":
    case "contractorId":
      return (part as string[]).map((id, index) => organizationUuid(`${path}.${index}`, id));
    default:
      assertNoNulls(path, part);
      return part;
  }
}

/** Rejects comparisons with null: they match nothing, but clients expect jobs without a value. */
function assertNoNulls(path: string, part: unknown): void {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return;
  for (const [name, value] of Object.entries(part)) {
    if (value === null)
      throw invalidArgument(
        `${path}.${name}`,
        "must not be null; use isNull: true to find jobs without a value",
      );
  }
}

export function toJobOrder(order: JobOrderInput | null | undefined): JobOrder {
  const { field, direction } = order ?? { field: "created_at", direction: "desc" };
  return { field, descending: direction === "desc" };
}

function historyRequest(args: PageArguments): HistoryRequest {
  const page = pageRequest(args);
  return { limit: page.limit, beforeSequence: readCursor(page, historyCursor.decode) };
}

/** The page of history to load with each job, and the event fields that are selected. */
interface HistorySelection {
  readonly request: HistoryRequest;
  readonly details: EventDetails;
}

/** Returns null if no history, several histories or a page after a cursor are selected. */
function historySelection(fields: Selection): HistorySelection | null {
  const [node, ...others] = fields.nodes("history");
  if (!node || others.length > 0) return null;
  const { first, after }: PageArguments = fields.argumentsOf(node);
  if (typeof after === "string") return null;
  const event = fields.below("history").items();
  const details = { requestId: event.has("requestId"), position: event.has("cursor") };
  return { request: historyRequest({ first }), details };
}

function historyConnection(
  { items, hasMore }: HistoryPage,
  { beforeSequence }: HistoryRequest,
  principal: EventAudience,
): Connection<EventWithPosition, JobEventNode> {
  return new Connection({
    items,
    hasNext: hasMore,
    hasPrevious: beforeSequence !== null,
    toNode: (row) => toJobEventNode(row, principal),
    cursorOf: historyCursor.encode,
  });
}
