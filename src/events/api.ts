/** The public API of the events feature. Other modules import only from here. */
export { type EventType, eventTypes, JobEvent } from "./entity.ts";
export { apiVersionSchema, eventSchema } from "./schema.ts";
export { createEventService, type EventService } from "./service.ts";
export {
  API_VERSION,
  type EventAudience,
  type EventChanges,
  type EventRow,
  type EventWire,
  toActorWire,
  toChangeWire,
  toEventWire,
} from "./wire.ts";
export { exampleEvents, exampleRequestId } from "./examples.ts";
export { deleteTestEvents, lastPosition, trimTestEvents } from "./delete-test-events.sql.ts";
export { feedCursor, historyCursor, LATEST, readFeedCursor } from "./cursors.ts";
export { advanceFeedSequence, isFeedAhead } from "./feed-sequence.sql.ts";
export { FEED_DAYS, feedLagSeconds, newestChange } from "./feed.sql.ts";
export {
  type EventDetails,
  type EventWithPosition,
  findEventsById,
  type HistoryPage,
  type HistoryRequest,
  includeHistory,
  readHistories,
} from "./history.sql.ts";
export { createEventNotifier, EventTail } from "./tail.ts";
export type { TailRow } from "./tail.sql.ts";
