/** Polls the events feed (GET /v1/events). */
import { expect } from "vitest";
import type { Queryable } from "../../../src/core/postgres/database.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { expectData } from "./assertions.ts";
import type { ApiClient } from "./job-client.ts";
import type { TestOrganization } from "./app.fixture.ts";
import type { ApiResponse } from "./app-instance.ts";
import { eventually } from "../eventually.ts";

export interface FeedEvent {
  id: string;
  type: string;
  data: { job: { marking_number: string }; sequence: number; changes: Record<string, unknown> };
}

/** `query` has no leading question mark. */
export function getFeed(
  api: ApiClient,
  { key }: Pick<TestOrganization, "key">,
  query = "",
): Promise<ApiResponse> {
  return api.call(`/v1/events?${query}`, { key });
}

export async function listFeedEvents(
  api: ApiClient,
  partner: Pick<TestOrganization, "key">,
  query = "",
): Promise<FeedEvent[]> {
  return expectData(await getFeed(api, partner, query)).items as FeedEvent[];
}

/**
 * Polls until the feed has `count` events. The feed shows an event only after all older transactions of the PostgreSQL
 * server have ended, including those of other tests.
 */
export function waitForFeedEvents(
  api: ApiClient,
  partner: Pick<TestOrganization, "key">,
  count: number,
  query = "",
): Promise<FeedEvent[]> {
  const poll = async (): Promise<FeedEvent[]> => {
    const events = await listFeedEvents(api, partner, query);
    expect(events).toHaveLength(count);
    return events;
  };
  return eventually(poll);
}

/** Resolves when no event is hidden by an older transaction of any database of the server. */
export async function waitUntilFeedIsComplete(database: Queryable): Promise<void> {
  await eventually(async () => {
    const hidden = await database.query(sql`select from job_event
      where transaction_id >= pg_snapshot_xmin(pg_current_snapshot()) limit 1`);
    expect(hidden).toEqual([]);
  });
}
