/** A subscriber as the guide wants one: told to try again later, it asks the feed for what it has missed. */
import { expect } from "vitest";
import type { Database } from "../../../src/platform/postgres/database.ts";
import { toTypedId } from "../../../src/platform/ids.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { waitUntilFeedIsComplete } from "../app/feed-client.ts";
import { subscribeAndWait } from "../graphql/subscription-client.ts";
import { queryData } from "../graphql/client.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { eventually } from "./change-load.ts";
import type { FaultFixture } from "./webhook.fixture.ts";

export interface FaultSubscriber {
  /** Every event since it stands came, each once and no other, and those of one job in their order. */
  check(): Promise<void>;
}

/** "Try again later": the one reason to hang up that a store's absence is. */
const TRY_AGAIN_LATER = 1013;

const MISSED_EVENTS_QUERY = `query ($after: String) {
  events(first: 100, after: $after) {
    nodes { id sequence job { markingNumber } } pageInfo { hasNextPage endCursor }
  }
}`;

interface ReceivedEvent {
  id: string;
  sequence: number;
  job: { markingNumber: string } | null;
}

interface EventPage {
  events: { nodes: ReceivedEvent[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
}

export async function startFaultSubscriber(
  { database, agent: { key } }: FaultFixture,
  server: Pick<ServerProcess, "url">,
): Promise<FaultSubscriber> {
  await waitUntilFeedIsComplete(database);
  const earlier = new Set(await eventIds(database));
  const subscription = await subscribeAndWait(server, key);
  let closed: unknown = null;
  void subscription.ended.then((reason) => (closed = (reason as { code?: number } | null)?.code ?? reason));

  const missed = async (): Promise<ReceivedEvent[]> => {
    const found: ReceivedEvent[] = [];
    for (let after = subscription.events.at(-1)?.cursor; ;) {
      const { events } = (await queryData(server, MISSED_EVENTS_QUERY, {
        key,
        variables: { after },
      })) as EventPage;
      found.push(...events.nodes.filter(({ id }) => !earlier.has(id)));
      if (!events.pageInfo.hasNextPage) return found;
      after = events.pageInfo.endCursor;
    }
  };
  return {
    async check() {
      const later = (await eventIds(database)).filter((id) => !earlier.has(id)).toSorted();
      const told = await eventually(async () => {
        const all: ReceivedEvent[] = [...subscription.events, ...(closed === null ? [] : await missed())];
        expect(all.map(({ id }) => id).toSorted()).toEqual(later);
        return all;
      });
      expect([null, TRY_AGAIN_LATER]).toContain(closed);
      for (const own of Map.groupBy(told, ({ job }) => job?.markingNumber).values()) {
        const sequences = own.map(({ sequence }) => sequence);
        expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      }
    },
  };
}

async function eventIds(database: Database): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`select id from job_event`);
  return rows.map(({ id }) => toTypedId("evt", id));
}
