/** One job's history, newest first: its pages are by the sequence of its events. */
import { getArgumentValues, isObjectType, type GraphQLResolveInfo } from "graphql";
import { z } from "zod";
import type { EventDetails, HistoryRequest, HistoryRows, PlacedEventRow } from "../../events/event.lookup.ts";
import type { EventViewer } from "../../events/event.wire.ts";
import { decodeCursor, encodeCursor } from "../../platform/cursor.ts";
import { invariant } from "../../platform/errors.ts";
import { toJobEventNode, type JobEventNode } from "../nodes/event.node.ts";
import { pageRequest, readCursor, toConnection, type ConnectionNode, type PageArguments } from "../paging.ts";
import { nodesBelow, selectedBelow, type Selection } from "../selection.ts";

const KIND = "history";
const shape = z.tuple([z.int().positive().max(2_147_483_647)]);

export function historyRequest(args: PageArguments): HistoryRequest {
  const page = pageRequest(args);
  const beforeSequence = readCursor(page, (text) => decodeCursor(KIND, shape, text)?.[0] ?? null);
  return { limit: page.limit, beforeSequence };
}

/** A page of history that is asked of each job, and what of its events. */
export interface HistoryBelow {
  readonly request: HistoryRequest;
  readonly details: EventDetails;
}

/** Null where none is asked for, or several are. */
export function historyBelow(info: GraphQLResolveInfo, job: Selection): HistoryBelow | null {
  const [node, ...others] = job.get("history") ?? [];
  const type = info.schema.getType("Job");
  if (!node || others.length > 0 || !isObjectType(type)) return null;
  const field = type.getFields()["history"];
  invariant(field, "a job has a history");
  const { first, after }: PageArguments = getArgumentValues(field, node, info.variableValues);
  if (typeof after === "string") return null;
  const event = nodesBelow(info, selectedBelow(info, [node]));
  const details = { requestId: event.has("requestId"), place: event.has("cursor") };
  return { request: historyRequest({ first }), details };
}

export function historyConnection(
  { items, hasMore }: HistoryRows,
  { beforeSequence }: HistoryRequest,
  viewer: EventViewer,
): ConnectionNode<JobEventNode> {
  return toConnection<PlacedEventRow, JobEventNode>({
    items,
    hasNext: hasMore,
    hasPrevious: beforeSequence !== null,
    toNode: (row) => toJobEventNode(row, viewer),
    cursorOf: ({ sequence }) => encodeCursor(KIND, [sequence]),
  });
}
