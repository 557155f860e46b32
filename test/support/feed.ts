/** The events feed as a partner polls it. */
import { expect, vi } from "vitest";
import type { Queryable } from "../../src/platform/database.ts";
import { sql } from "../../src/platform/sql.ts";
import { expectData } from "./answers.ts";
import type { Api } from "./job-calls.ts";
import type { Partner } from "./start-app.ts";
import type { Answer } from "./instance.ts";

export interface FeedEvent {
  id: string;
  type: string;
  data: { job: { marking_number: string }; sequence: number; changes: Record<string, unknown> };
}

/** GET /v1/events; `query` without its question mark. */
export function feed(api: Api, { key }: Partner, query = ""): Promise<Answer> {
  return api.call(`/v1/events?${query}`, { key });
}

export async function eventsOf(api: Api, partner: Partner, query = ""): Promise<FeedEvent[]> {
  return expectData(await feed(api, partner, query)).items as FeedEvent[];
}

/**
 * The feed once it shows `count` events: it waits for transactions that began before an event's to end, and those of
 * other tests' databases count as well.
 */
export function eventuallyEvents(
  api: Api,
  partner: Partner,
  count: number,
  query = "",
): Promise<FeedEvent[]> {
  const look = async (): Promise<FeedEvent[]> => {
    const events = await eventsOf(api, partner, query);
    expect(events).toHaveLength(count);
    return events;
  };
  return vi.waitFor(look, { timeout: 20_000, interval: 20 });
}

/** Resolves once the feed shows every event: an older transaction, of any database of the server, holds it up. */
export async function untilShown(database: Queryable): Promise<void> {
  await vi.waitFor(async () => {
    const hidden = await database.query(sql`select from job_event
      where transaction_id >= pg_snapshot_xmin(pg_current_snapshot()) limit 1`);
    expect(hidden).toEqual([]);
  }, 20_000);
}
