/** A job's history, newest first. */
import {
  type EventAudience,
  type EventDetails,
  type EventWithPosition,
  historyCursor,
  type HistoryPage,
  type HistoryRequest,
} from "../../../events/api.ts";
import { toJobEventNode, type JobEventNode } from "../nodes.ts";
import { Connection, pageRequest, readCursor, type PageArguments } from "../pagination.ts";
import type { Selection } from "../execution/selection.ts";

export function historyRequest(args: PageArguments): HistoryRequest {
  const page = pageRequest(args);
  return { limit: page.limit, beforeSequence: readCursor(page, historyCursor.decode) };
}

/** The page of history to load with each job, and the event fields that are selected. */
export interface HistorySelection {
  readonly request: HistoryRequest;
  readonly details: EventDetails;
}

/** Returns null if no history, several histories or a page after a cursor are selected. */
export function historySelection(job: Selection): HistorySelection | null {
  const [node, ...others] = job.nodes("history");
  if (!node || others.length > 0) return null;
  const { first, after }: PageArguments = job.argumentsOf(node);
  if (typeof after === "string") return null;
  const event = job.below("history").items();
  const details = { requestId: event.has("requestId"), position: event.has("cursor") };
  return { request: historyRequest({ first }), details };
}

export function historyConnection(
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
