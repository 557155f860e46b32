/** The operations measured at every size: by organisations of constant size, and by one whose size grows with the database. */
import type pg from "pg";
import { feedCursor } from "../../src/events/feed-cursor.ts";
import { operations as graphql } from "../graphql/operations.ts";
import type { LoadRequest } from "../load.ts";
import type { BenchOrganization } from "../seed.ts";
import { createWorkload, filterNames, type FilterName, type Workload } from "../workload.ts";
import type { GrowthDataset } from "./dataset.ts";

export interface GrowthBenchmark {
  id: string;
  name: string;
  /** False if the cost is only shown, not limited: the response counts data that grows. */
  isBounded: boolean;
  connections: number;
  /** Makes new requests; called once a round. Null if the database is too small for this operation. */
  requests: (() => LoadRequest[]) | null;
}

const CONNECTIONS = 8;
const BATCH_CONNECTIONS = 4;
const DEEP_PAGE = 5_000;
/** Sample size. Every organisation then has at least the 100 sampled jobs that a batch needs. */
const SAMPLED_JOBS = 300_000;
const SAMPLE_PERCENT = 10;

export async function createGrowthBenchmarks(dataset: GrowthDataset): Promise<GrowthBenchmark[]> {
  const { client, regularOrganizations, seededAt, jobs } = dataset;
  const samplePercent = Math.min(SAMPLE_PERCENT, (SAMPLED_JOBS / jobs) * 100);
  const workload = await createWorkload(
    { client, organizations: regularOrganizations, seededAt },
    { samplePercent, excludedAgentId: dataset.largeOrganization.id },
  );
  return [
    ...(await regularOrganizationBenchmarks(dataset, workload)),
    ...largeOrganizationBenchmarks(dataset),
  ];
}

type BenchmarkInput = Omit<GrowthBenchmark, "connections" | "isBounded"> & Partial<GrowthBenchmark>;

const createBenchmark = (input: BenchmarkInput): GrowthBenchmark => ({
  connections: CONNECTIONS,
  isBounded: true,
  ...input,
});

async function regularOrganizationBenchmarks(
  { client, regularOrganizations }: GrowthDataset,
  workload: Workload,
): Promise<GrowthBenchmark[]> {
  const feeds = await feedPages(client, regularOrganizations);
  const lists = (filters: readonly FilterName[]) => () => workload.lists(1_200, 10, filters);
  const keys = createPicker(regularOrganizations.map(({ key }) => key));
  return [
    createBenchmark({ id: "list", name: "list of 10, mixed filters", requests: lists(filterNames) }),
    createBenchmark({
      id: "history",
      name: "history of a job",
      requests: () =>
        workload.updates(600).map(({ path, key }) => ({ method: "GET", path: `${path}/history`, key })),
    }),
    createBenchmark({
      id: "feed",
      name: "page of 50 events, from anywhere in the feed",
      requests: () => take(600, feeds),
    }),
    createBenchmark({
      id: "stats",
      name: "jobStats by status",
      requests: () => take(600, () => graphql.stats(keys())),
    }),
    createBenchmark({ id: "update", name: "PATCH one", requests: () => workload.updates(600) }),
    createBenchmark({
      id: "batch",
      name: "PATCH batch of 100",
      connections: BATCH_CONNECTIONS,
      requests: () => workload.batches(24, 100),
    }),
  ];
}

/** Operations of the organisation that has a tenth of all jobs. */
function largeOrganizationBenchmarks({
  largeOrganization: { key, jobs },
  seededAt,
}: GrowthDataset): GrowthBenchmark[] {
  const list =
    (count: number, query: string): (() => LoadRequest[]) =>
    () =>
      take(count, () => ({ method: "GET", path: `/v1/jobs?page_size=10${query}`, key }));
  const day = new Date(seededAt.getTime() - 30 * 86_400_000).toISOString().slice(0, 10);
  return [
    createBenchmark({
      id: "large",
      name: "large organisation: list of 10, no filter",
      requests: list(1_200, ""),
    }),
    createBenchmark({
      id: "large-status",
      name: "large organisation: list of 10, by status",
      requests: list(1_200, "&normalized_status=in_transit"),
    }),
    createBenchmark({
      id: "large-deep",
      name: `large organisation: page ${DEEP_PAGE.toLocaleString("en")}, 10 items`,
      requests: jobs / 10 >= DEEP_PAGE ? list(300, `&page=${DEEP_PAGE}`) : null,
    }),
    createBenchmark({
      id: "large-stats",
      name: "large organisation: jobStats by status",
      requests: () => take(600, () => graphql.stats(key)),
    }),
    createBenchmark({
      id: "large-day",
      name: "large organisation: list of 10, updated on one day, with the exact total",
      isBounded: false,
      requests: list(120, `&updated_at_from=${day}&updated_at_to=${day}`),
    }),
  ];
}

function take(count: number, make: () => LoadRequest): LoadRequest[] {
  return Array.from({ length: count }, make);
}

function createPicker<Value>(values: readonly Value[]): () => Value {
  return () => values[Math.floor(Math.random() * values.length)] as Value;
}

/** Pages start within this many days: less than the feed's 30, so that no cursor expires. */
const FEED_DAYS = 25;

/** Makes requests for feed pages that start at random events. */
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
  const draw = createPicker(rows.filter(({ agent_id: id }) => keys.has(id)));
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
