/** One job's history, newest first: its pages are by the sequence of its events. */
import { z } from "zod";
import type { HistoryRequest, HistoryRows, PlacedEventRow } from "../../events/event.lookup.ts";
import type { EventViewer } from "../../events/event.wire.ts";
import { decodeCursor, encodeCursor } from "../../platform/cursor.ts";
import { toJobEventNode, type JobEventNode } from "../nodes/event.node.ts";
import { pageRequest, readCursor, toConnection, type ConnectionNode, type PageArguments } from "../paging.ts";

const KIND = "history";
const shape = z.tuple([z.int().positive()]);

export function historyRequest(args: PageArguments): HistoryRequest {
  const page = pageRequest(args);
  const beforeSequence = readCursor(page, (text) => decodeCursor(KIND, shape, text)?.[0] ?? null);
  return { limit: page.limit, beforeSequence };
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
