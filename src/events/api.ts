/** The public API of the events feature. Other modules import only from here. */
export { SlowReaderError } from "./event.buffer.ts";
export { feedCursor, feedCursorAt, readFeedCursor } from "./event.cursor.ts";
export { type EventType, eventTypes, JobEvent } from "./event.entity.ts";
export { advanceFeedSequence, isFeedAhead } from "./event.feed-sequence.ts";
export { createFreshnessLookup } from "./event.freshness.ts";
export { createEventNotifier } from "./event.notifier.ts";
export { type FeedPosition, type FeedPositionRow, feedLagSeconds, newestPosition } from "./event.position.ts";
export {
  type EventDetails,
  type EventWithPosition,
  findEventsById,
  historiesOf,
  historyJoin,
  type HistoryRequest,
  type HistoryRow,
  type HistoryRows,
  listFeedEvents,
  parseHistory,
} from "./event.queries.ts";
export { createEventService, type EventService } from "./event.service.ts";
export type { TailRow } from "./event.tail-query.ts";
export { createEventTail, type EventTail } from "./event.tail.ts";
export {
  API_VERSION,
  type EventAudience,
  type EventChanges,
  type EventRow,
  type EventWire,
  type HistoryEntryWire,
  toActorWire,
  toChangeWire,
  toEventWire,
  toHistoryEntryWire,
} from "./event.wire.ts";
