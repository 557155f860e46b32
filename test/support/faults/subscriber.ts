/** A subscriber that, as the guide recommends, queries missed events after the server closed its WebSocket. */
import { expect } from "vitest";
import type { Database } from "../../../src/core/postgres/database.ts";
import { toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { waitUntilFeedIsComplete } from "../app/feed-client.ts";
import { subscribeAndWait } from "../graphql/subscription-client.ts";
import { queryData } from "../graphql/client.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { eventually } from "./change-load.ts";
import type { FaultFixture } from "./webhook.fixture.ts";

export interface FaultSubscriber {
  /** Expects every event since the subscription started exactly once, and those of each job in order. */
  check(): Promise<void>;
}

/** The only close code allowed when a database is unavailable. */
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

  const queryMissed = async (): Promise<ReceivedEvent[]> => {
    const missedEvents: ReceivedEvent[] = [];
    for (let after = subscription.events.at(-1)?.cursor; ;) {
      const { events } = (await queryData(server, MISSED_EVENTS_QUERY, {
        key,
        variables: { after },
      })) as EventPage;
      missedEvents.push(...events.nodes.filter(({ id }) => !earlier.has(id)));
      if (!events.pageInfo.hasNextPage) return missedEvents;
      after = events.pageInfo.endCursor;
    }
  };
  return {
    async check() {
      const later = (await eventIds(database)).filter((id) => !earlier.has(id)).toSorted();
      const received = await eventually(async () => {
        const all: ReceivedEvent[] = [
          ...subscription.events,
          ...(closed === null ? [] : await queryMissed()),
        ];
        expect(all.map(({ id }) => id).toSorted()).toEqual(later);
        return all;
      });
      expect([null, TRY_AGAIN_LATER]).toContain(closed);
      for (const jobEvents of Map.groupBy(received, ({ job }) => job?.markingNumber).values()) {
        const sequences = jobEvents.map(({ sequence }) => sequence);
        expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      }
    },
  };
}

async function eventIds(database: Database): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`select id from job_event`);
  return rows.map(({ id }) => toTypedId("evt", id));
}
