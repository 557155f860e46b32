/** Telling every process that organisations have news: ids only, and only a hint. The feed itself is the truth. */
import type { Queryable } from "../platform/postgres/database.ts";
import { createPayloadNotifier } from "../platform/postgres/notify.ts";

/** PostgreSQL's channel on which processes with subscribers hear whose jobs changed. */
export const EVENTS_CHANNEL = "waymark_events";

/** To be called with the uuids of the organisations that may see what was just committed. */
export function createEventNotifier(database: Queryable): (organizationIds: readonly string[]) => void {
  return createPayloadNotifier(database, EVENTS_CHANNEL);
}
