/** Telling every process that organisations have news: ids only, and only a hint. The feed itself is the truth. */
import type { Queryable } from "../platform/database.ts";
import { createNamingNotifier } from "../platform/notifications.ts";

/** PostgreSQL's channel on which processes with subscribers hear whose jobs changed. */
export const EVENTS_CHANNEL = "waymark_events";

/** To be called with the uuids of the organisations that may see what was just committed. */
export function createEventNotifier(database: Queryable): (organizationIds: readonly string[]) => void {
  return createNamingNotifier(database, EVENTS_CHANNEL);
}
