/** A subscriber as the guide wants one: told to try again later, it asks the feed for what it has missed. */
import { expect } from "vitest";
import type { Database } from "../../src/platform/database.ts";
import { toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/sql.ts";
import { untilShown } from "./feed.ts";
import { follow } from "./graphql-live.ts";
import { ask } from "./graphql.ts";
import type { ServerProcess } from "./server-process.ts";
import { eventually } from "./webhook-faults.load.ts";
import type { FaultWorld } from "./webhook-faults.ts";

export interface FaultSubscriber {
  /** Every event since it stands came, each once and no other, and those of one job in their order. */
  check(): Promise<void>;
}

/** "Try again later": the one reason to hang up that a store's absence is. */
const TRY_AGAIN_LATER = 1013;

const MISSED = `query ($after: String) {
  events(first: 100, after: $after) {
    nodes { id sequence job { markingNumber } } pageInfo { hasNextPage endCursor }
  }
}`;

interface Told {
  id: string;
  sequence: number;
  job: { markingNumber: string } | null;
}

interface EventPage {
  events: { nodes: Told[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
}

export async function startSubscriber(
  { database, agent: { key } }: FaultWorld,
  server: Pick<ServerProcess, "url">,
): Promise<FaultSubscriber> {
  await untilShown(database);
  const earlier = new Set(await eventIds(database));
  const following = await follow(server, key);
  let closed: unknown = null;
  void following.ended.then((reason) => (closed = (reason as { code?: number } | null)?.code ?? reason));

  const missed = async (): Promise<Told[]> => {
    const found: Told[] = [];
    for (let after = following.events.at(-1)?.cursor; ;) {
      const { events } = (await ask(server, MISSED, { key, variables: { after } })) as EventPage;
      found.push(...events.nodes.filter(({ id }) => !earlier.has(id)));
      if (!events.pageInfo.hasNextPage) return found;
      after = events.pageInfo.endCursor;
    }
  };
  return {
    async check() {
      const later = (await eventIds(database)).filter((id) => !earlier.has(id)).toSorted();
      const told = await eventually(async () => {
        const all: Told[] = [...following.events, ...(closed === null ? [] : await missed())];
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
