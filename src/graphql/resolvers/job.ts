/** Reading jobs. */
import { isDeepStrictEqual } from "node:util";
import type { GraphQLResolveInfo } from "graphql";
import {
  historyBeside,
  toHistory,
  type HistoryColumn,
  type HistoryRequest,
} from "../../events/event.lookup.ts";
import { checkCondition } from "../../jobs/job.condition.check.ts";
import type { JobCondition } from "../../jobs/job.condition.ts";
import { pageOfJobs } from "../../jobs/job.connection.ts";
import { jobCursor, readJobCursor, type JobOrder } from "../../jobs/job.order.ts";
import { jobsByMarkingNumber } from "../../jobs/job.lookup.ts";
import type { ReadJobRow } from "../../jobs/job.row.ts";
import { invariant } from "../../platform/errors.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { allowed } from "../access.ts";
import type { GraphqlContext } from "../context.ts";
import { badArgument } from "../errors.ts";
import { toCondition } from "../filter.ts";
import type {
  JobFilter,
  JobOrder as JobOrderInput,
  JobResolvers,
  QueryResolvers,
} from "../generated/schema-types.ts";
import type { Loaders } from "../loaders.ts";
import { toJobNode, type JobConnectionNode, type JobNode } from "../nodes/job.node.ts";
import type { OrganizationNode } from "../nodes/organization.node.ts";
import { pageRequest, readCursor, toConnection, type PageArguments } from "../paging.ts";
import { nodesBelow, selectedBelow } from "../selection.ts";
import { historyBelow, historyConnection, historyRequest } from "./history.ts";

export const jobQueries: Pick<QueryResolvers, "job" | "jobs" | "jobsByMarkingNumber"> = {
  async job(_root, { id, markingNumber }, context) {
    const viewer = allowed(context, "jobs:read");
    if (typeof id === typeof markingNumber) throw badArgument("", "Give either id or markingNumber");
    if (typeof markingNumber === "string") {
      const [row] = await jobsByMarkingNumber(context.database, viewer, [markingNumber]);
      return row ? toJobNode(row) : null;
    }
    const uuid = fromTypedId("job", id as string);
    return uuid === null ? null : await context.loaders.jobs.load(uuid);
  },

  async jobsByMarkingNumber(_root, { markingNumbers }, context) {
    const viewer = allowed(context, "jobs:read");
    const rows = await jobsByMarkingNumber(context.database, viewer, markingNumbers);
    return rows.map((row) => row && toJobNode(row));
  },

  jobs: (_root, args, context, info) => jobConnection(context, args, info),
};

export const job: JobResolvers = {
  async status({ normalizedStatus }, _args, { loaders }) {
    const status = (await loaders.statuses()).get(normalizedStatus);
    invariant(status, "a job's status is in the catalogue");
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
    const viewer = allowed(context, "jobs:read");
    if (node.past && isDeepStrictEqual(node.past.request, request))
      return historyConnection(node.past.rows, request, viewer);
    const loaded = context.loaders.history(node.row.id, request);
    return loaded.then((rows) => historyConnection(rows, request, viewer));
  },
};

async function agentOf({ row }: JobNode, loaders: Loaders): Promise<OrganizationNode> {
  const agent = await loaders.organizations.load(row.agent_id);
  invariant(agent, "whoever sees a job sees its agent");
  return agent;
}

interface JobsArguments extends PageArguments {
  readonly filter?: JobFilter | null | undefined;
  readonly orderBy?: JobOrderInput | null | undefined;
}

/** One statement for the page with its organisations, histories and total, as far as they are selected. */
async function jobConnection(
  context: GraphqlContext,
  args: JobsArguments,
  info: GraphQLResolveInfo,
): Promise<JobConnectionNode> {
  const viewer = allowed(context, "jobs:read");
  const page = pageRequest(args);
  const order = orderOf(args.orderBy);
  const position = readCursor(page, (text) => readJobCursor(order, text));
  const condition = await checkedCondition(context, args.filter);
  const { history, ...include } = inclusionOf(info);
  const { items, hasNext, hasPrevious, total } = await pageOfJobs(context.readsOf(viewer), viewer, {
    condition,
    order,
    page: { direction: page.direction, limit: page.limit, position },
    include: { ...include, beside: history ? historyBeside(history.request, history.details) : undefined },
  });
  const connection = toConnection({
    items,
    hasNext,
    hasPrevious,
    toNode: (row) => toJobNodeWith(history?.request, row),
    cursorOf: (row) => jobCursor(order, row),
  });
  return Object.assign(connection, { totalCount: total ?? 0 });
}

/** `request`: the page of history that was read beside the job. */
function toJobNodeWith(request: HistoryRequest | undefined, row: ReadJobRow): JobNode {
  const node = toJobNode(row);
  if (request) node.past = { request, rows: toHistory(row as ReadJobRow & HistoryColumn, request) };
  return node;
}

/** Throws BadRequestException for what no filter may ask. */
export async function checkedCondition(
  { services }: { readonly services: Pick<GraphqlContext["services"], "codes"> },
  filter: JobFilter | null | undefined,
): Promise<JobCondition> {
  const condition = toCondition(filter);
  await checkCondition(services.codes, condition);
  return condition;
}

export function orderOf(order: JobOrderInput | null | undefined): JobOrder {
  const { field, direction } = order ?? { field: "CREATED_AT", direction: "DESC" };
  return { field: field.toLowerCase() as JobOrder["field"], descending: direction === "DESC" };
}

function inclusionOf(info: GraphQLResolveInfo) {
  const connection = selectedBelow(info);
  const selected = nodesBelow(info, connection);
  return {
    items: connection.has("nodes") || connection.has("edges") || connection.has("pageInfo"),
    organizations: selected.has("agent") || selected.has("contractor"),
    total: connection.has("totalCount"),
    history: historyBelow(info, selected),
  };
}
