/** What is asked at every size: the same of the same partners, however many others there are; and of the one that grew itself. */
import type pg from "pg";
import { feedCursor } from "../../src/events/event.cursor.ts";
import { operations as graphql } from "../graphql/operations.ts";
import type { LoadRequest } from "../load.ts";
import type { BenchOrganization } from "../seed.ts";
import { createWorkload, filterNames, type FilterName, type Workload } from "../workload.ts";
import type { GrowthWorld } from "./world.ts";

export interface GrowthRow {
  id: string;
  name: string;
  /** Whether its cost is held to the budget: what an answer costs that grows with the data itself is shown only. */
  isBounded: boolean;
  connections: number;
  /** New ones for each round. Null: there is no such thing at this size. */
  requests: (() => LoadRequest[]) | null;
}

const CONNECTIONS = 8;
const BATCH_CONNECTIONS = 4;
const DEEP_PAGE = 5_000;
/** Of the jobs, so many are drawn from: as many of each partner's as a batch needs. */
const SAMPLED = 300_000;
const SAMPLE_PERCENT = 10;

export async function growthRows(world: GrowthWorld): Promise<GrowthRow[]> {
  const { client, partners, seededAt, jobs } = world;
  const samplePercent = Math.min(SAMPLE_PERCENT, (SAMPLED / jobs) * 100);
  const workload = await createWorkload(
    { client, organizations: partners, seededAt },
    { samplePercent, without: world.large.id },
  );
  return [...(await partnerRows(world, workload)), ...largeRows(world)];
}

type Made = Omit<GrowthRow, "connections" | "isBounded"> & Partial<GrowthRow>;

const row = (made: Made): GrowthRow => ({ connections: CONNECTIONS, isBounded: true, ...made });

async function partnerRows({ client, partners }: GrowthWorld, workload: Workload): Promise<GrowthRow[]> {
  const feeds = await feedPages(client, partners);
  const lists = (filters: readonly FilterName[]) => () => workload.lists(1_200, 10, filters);
  const keys = drawer(partners.map(({ key }) => key));
  return [
    row({ id: "list", name: "list of 10, mixed filters", requests: lists(filterNames) }),
    row({
      id: "history",
      name: "history of a job",
      requests: () =>
        workload.updates(600).map(({ path, key }) => ({ method: "GET", path: `${path}/history`, key })),
    }),
    row({
      id: "feed",
      name: "page of 50 events, from anywhere in the feed",
      requests: () => take(600, feeds),
    }),
    row({
      id: "stats",
      name: "jobStats by status",
      requests: () => take(600, () => graphql.stats(keys())),
    }),
    row({ id: "update", name: "PATCH one", requests: () => workload.updates(600) }),
    row({
      id: "batch",
      name: "PATCH batch of 100",
      connections: BATCH_CONNECTIONS,
      requests: () => workload.batches(24, 100),
    }),
  ];
}

/** Of the organisation that has a tenth of all jobs, and grows with them. */
function largeRows({ large: { key, jobs }, seededAt }: GrowthWorld): GrowthRow[] {
  const list =
    (count: number, query: string): (() => LoadRequest[]) =>
    () =>
      take(count, () => ({ method: "GET", path: `/v1/jobs?page_size=10${query}`, key }));
  const day = new Date(seededAt.getTime() - 30 * 86_400_000).toISOString().slice(0, 10);
  return [
    row({ id: "large", name: "its list of 10, no filter", requests: list(1_200, "") }),
    row({
      id: "large-status",
      name: "its list of 10, by status",
      requests: list(1_200, "&normalized_status=in_transit"),
    }),
    row({
      id: "large-deep",
      name: `its page ${DEEP_PAGE.toLocaleString("en")} of 10`,
      requests: jobs / 10 >= DEEP_PAGE ? list(300, `&page=${DEEP_PAGE}`) : null,
    }),
    row({
      id: "large-stats",
      name: "its jobStats by status",
      requests: () => take(600, () => graphql.stats(key)),
    }),
    row({
      id: "large-day",
      name: "its list of 10, updated on one day, with the exact total",
      isBounded: false,
      requests: list(120, `&updated_at_from=${day}&updated_at_to=${day}`),
    }),
  ];
}

function take(count: number, make: () => LoadRequest): LoadRequest[] {
  return Array.from({ length: count }, make);
}

function drawer<Value>(values: readonly Value[]): () => Value {
  return () => values[Math.floor(Math.random() * values.length)] as Value;
}

/** The feed goes back 30 days. */
const FEED_DAYS = 25;

/** Pages that begin at events of the last weeks, wherever they lie. */
async function feedPages(
  client: pg.Client,
  partners: readonly BenchOrganization[],
): Promise<() => LoadRequest> {
  const { rows } = await client.query<{ agent_id: string; transaction_id: string; position: string }>(
    `select agent_id, transaction_id::text as transaction_id, position::text as position
     from bench_message join job_event on job_event.id = event_id
     where occurred_at > now() - interval '${FEED_DAYS} days'`,
  );
  const keys = new Map(partners.map(({ id, key }) => [id, key]));
  const draw = drawer(rows.filter(({ agent_id: id }) => keys.has(id)));
  return () => {
    const event = draw();
    const after = encodeURIComponent(feedCursor(event));
    return {
      method: "GET",
      path: `/v1/events?page_size=50&after=${after}`,
      key: keys.get(event.agent_id) ?? "",
    };
  };
}
