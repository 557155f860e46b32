/** One job's history, newest first: its pages are by the sequence of its events. */
import { getArgumentValues, isObjectType, type GraphQLResolveInfo } from "graphql";
import { z } from "zod";
import type { HistoryRequest, HistoryRows, PlacedEventRow } from "../../events/event.lookup.ts";
import type { EventViewer } from "../../events/event.wire.ts";
import { decodeCursor, encodeCursor } from "../../platform/cursor.ts";
import { invariant } from "../../platform/errors.ts";
import { toJobEventNode, type JobEventNode } from "../nodes/event.node.ts";
import { pageRequest, readCursor, toConnection, type ConnectionNode, type PageArguments } from "../paging.ts";
import type { Selection } from "../selection.ts";

const KIND = "history";
const shape = z.tuple([z.int().positive()]);

export function historyRequest(args: PageArguments): HistoryRequest {
  const page = pageRequest(args);
  const beforeSequence = readCursor(page, (text) => decodeCursor(KIND, shape, text)?.[0] ?? null);
  return { limit: page.limit, beforeSequence };
}

/** The page of history that is asked of each job; null where none is, or several are. */
export function historyBelow(info: GraphQLResolveInfo, job: Selection): HistoryRequest | null {
  const [node, ...others] = job.get("history") ?? [];
  const type = info.schema.getType("Job");
  if (!node || others.length > 0 || !isObjectType(type)) return null;
  const field = type.getFields()["history"];
  invariant(field, "a job has a history");
  const { first, after }: PageArguments = getArgumentValues(field, node, info.variableValues);
  return typeof after === "string" ? null : historyRequest({ first });
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
