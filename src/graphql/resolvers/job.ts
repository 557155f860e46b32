/** Queries that return jobs, and the fields of a job. */
import { isDeepStrictEqual } from "node:util";
import type { GraphQLResolveInfo } from "graphql";
import { historyJoin, type HistoryRequest, type HistoryRow, parseHistory } from "../../events/api.ts";
import {
  findJobsByMarkingNumber,
  jobCursor,
  type JobFilterTree,
  type JobOrder,
  type JobWithOrganizations,
  listJobs,
  readJobCursor,
  validateFilter,
} from "../../jobs/api.ts";
import { invariant } from "../../platform/errors.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { authorize } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument } from "../invalid-argument.ts";
import { parseFilter } from "../parse-filter.ts";
import type {
  JobFilter,
  JobOrder as JobOrderInput,
  JobResolvers,
  QueryResolvers,
} from "../generated/schema-types.ts";
import type { Loaders } from "../nodes/loaders.ts";
import { toJobNode, type JobConnectionNode, type JobNode } from "../nodes/job.node.ts";
import type { OrganizationNode } from "../nodes/organization.node.ts";
import { pageRequest, readCursor, toConnection, type PageArguments } from "../pagination.ts";
import { nodeSelection, selectionOf } from "../execution/selection.ts";
import { historySelection, historyConnection, historyRequest } from "./history.ts";

export const jobQueries: Pick<QueryResolvers, "job" | "jobs" | "jobsByMarkingNumber"> = {
  async job(_root, { id, markingNumber }, context) {
    const principal = authorize(context, "jobs:read");
    if (typeof id === typeof markingNumber) throw invalidArgument("", "Give either id or markingNumber");
    if (typeof markingNumber === "string") {
      const [row] = await findJobsByMarkingNumber(context.database, principal, [markingNumber]);
      return row ? toJobNode(row) : null;
    }
    const uuid = fromTypedId("job", id as string);
    return uuid === null ? null : await context.loaders.jobs.load(uuid);
  },

  async jobsByMarkingNumber(_root, { markingNumbers }, context) {
    const principal = authorize(context, "jobs:read");
    const rows = await findJobsByMarkingNumber(context.database, principal, markingNumbers);
    return rows.map((row) => row && toJobNode(row));
  },

  jobs: (_root, args, context, info) => jobConnection(context, args, info),
};

export const job: JobResolvers = {
  async status({ normalizedStatus }, _args, { loaders }) {
    const status = (await loaders.statuses()).get(normalizedStatus);
    invariant(status, "every job status is in the status table");
    return status;
  },
  agent: (node, _args, { loaders }) => node.agent ?? agentOf(node, loaders),
  contractor(node, _args, { loaders }) {
    const { contractor, row } = node;
    if (contractor !== undefined) return contractor;
    return row.contractor_id === null ? null : loaders.organizations.load(row.contractor_id);
  },
  history(node, args, context) {
    const request = historyRequest(args);
    const principal = authorize(context, "jobs:read");
    if (node.prefetchedHistory && isDeepStrictEqual(node.prefetchedHistory.request, request))
      return historyConnection(node.prefetchedHistory.rows, request, principal);
    const loaded = context.loaders.history(node.row.id, request);
    return loaded.then((rows) => historyConnection(rows, request, principal));
  },
};

async function agentOf({ row }: JobNode, loaders: Loaders): Promise<OrganizationNode> {
  const agent = await loaders.organizations.load(row.agent_id);
  invariant(agent, "a principal that can see a job can see its agent");
  return agent;
}

interface JobsArguments extends PageArguments {
  readonly filter?: JobFilter | null | undefined;
  readonly orderBy?: JobOrderInput | null | undefined;
}

/** Loads the page and, if selected, its organisations, histories and total with one SQL statement. */
async function jobConnection(
  context: GraphqlContext,
  args: JobsArguments,
  info: GraphQLResolveInfo,
): Promise<JobConnectionNode> {
  const principal = authorize(context, "jobs:read");
  const page = pageRequest(args);
  const order = toJobOrder(args.orderBy);
  const position = readCursor(page, (text) => readJobCursor(order, text));
  const filter = await checkedFilter(context, args.filter);
  const { history, ...include } = includedFields(info);
  const { items, hasNext, hasPrevious, total } = await listJobs(context.readerFor(principal), principal, {
    filter,
    order,
    page: { direction: page.direction, limit: page.limit, position },
    include: { ...include, extraJoins: history ? historyJoin(history.request, history.details) : undefined },
  });
  const connection = toConnection({
    items,
    hasNext,
    hasPrevious,
    toNode: (row) => toJobNodeWithHistory(history?.request, row),
    cursorOf: (row) => jobCursor(order, row),
  });
  return Object.assign(connection, { totalCount: total ?? 0 });
}

/** `request` is the page of history that was loaded with the job. */
function toJobNodeWithHistory(request: HistoryRequest | undefined, row: JobWithOrganizations): JobNode {
  const node = toJobNode(row);
  if (request)
    node.prefetchedHistory = {
      request,
      rows: parseHistory(row as JobWithOrganizations & HistoryRow, request),
    };
  return node;
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

export function toJobOrder(order: JobOrderInput | null | undefined): JobOrder {
  const { field, direction } = order ?? { field: "CREATED_AT", direction: "DESC" };
  return { field: field.toLowerCase() as JobOrder["field"], descending: direction === "DESC" };
}

function includedFields(info: GraphQLResolveInfo) {
  const connection = selectionOf(info);
  const selected = nodeSelection(info, connection);
  return {
    items: connection.has("nodes") || connection.has("edges") || connection.has("pageInfo"),
    organizations: selected.has("agent") || selected.has("contractor"),
    total: connection.has("totalCount"),
    history: historySelection(info, selected),
  };
}
