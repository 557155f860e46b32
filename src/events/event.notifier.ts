/** Notifies every process that organisations have new events. A notification is only a hint; the tail reads the feed. */
import type { Queryable } from "../platform/postgres/database.ts";
import { createPayloadNotifier } from "../platform/postgres/notify.ts";

/** PostgreSQL channel. The payload is a list of organisation ids. */
export const EVENTS_CHANNEL = "waymark_events";

/** Call the returned function after a commit with the ids (UUIDs) of the organisations that can see the change. */
export function createEventNotifier(database: Queryable): (organizationIds: readonly string[]) => void {
  return createPayloadNotifier(database, EVENTS_CHANNEL);
}
