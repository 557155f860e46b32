/** The operations measured at every size: by organisations of constant size, and by one whose size grows with the database. */
import { feedCursor } from "../../src/events/cursors.ts";
import { statsRequest } from "../graphql/requests.ts";
import type { LoadRequest } from "../load.ts";
import { createWorkload, filterNames, times } from "../workload.ts";
import type { GrowthDataset } from "./dataset.ts";

export interface GrowthRow {
  id: string;
  name: string;
  /** False if the cost is only shown, not limited: the response counts data that grows. */
  isBounded: boolean;
  connections: number;
  /** Makes new requests; called once a round. Null if the database is too small for this operation. */
  make: (() => LoadRequest[]) | null;
}

const CONNECTIONS = 8;
const BATCH_CONNECTIONS = 4;
const DEEP_PAGE = 5_000;
/** Sample size. Every organisation then has at least the 100 sampled jobs that a batch needs. */
const SAMPLED_JOBS = 300_000;
const SAMPLE_PERCENT = 10;

/** Returns the rows in the order of the table. */
export async function createGrowthRows(dataset: GrowthDataset): Promise<GrowthRow[]> {
  const { client, regularOrganizations, largeOrganization, seededAt, jobs } = dataset;
  const samplePercent = Math.min(SAMPLE_PERCENT, (SAMPLED_JOBS / jobs) * 100);
  const workload = await createWorkload(
    { client, organizations: regularOrganizations, seededAt },
    { samplePercent, excludedAgentId: largeOrganization.id },
  );
  const feedPage = await createFeedPages(dataset);
  const key = createPicker(regularOrganizations.map((one) => one.key));
  const row = (
    id: string,
    name: string,
    make: GrowthRow["make"],
    options: Partial<GrowthRow> = {},
  ): GrowthRow => ({ id, name, make, connections: CONNECTIONS, isBounded: true, ...options });
  const largeList = (count: number, query: string) => () =>
    times(count, () => ({
      method: "GET",
      path: `/v1/jobs?page_size=10${query}`,
      key: largeOrganization.key,
    }));
  const day = new Date(seededAt.getTime() - 30 * 86_400_000).toISOString().slice(0, 10);
  return [
    row("list", "list of 10, mixed filters", () => workload.lists(1_200, 10, filterNames)),
    row("history", "history of a job", () =>
      workload.updates(600).map(({ path, key: of }) => ({ method: "GET", path: `${path}/history`, key: of })),
    ),
    row("feed", "page of 50 events, from anywhere in the feed", () => times(600, feedPage)),
    row("stats", "jobStats by status", () => times(600, () => statsRequest(key()))),
    row("update", "PATCH one", () => workload.updates(600)),
    row("batch", "PATCH batch of 100", () => workload.batches(24, 100), { connections: BATCH_CONNECTIONS }),
    row("large", "large organisation: list of 10, no filter", largeList(1_200, "")),
    row(
      "large-status",
      "large organisation: list of 10, by status",
      largeList(1_200, "&normalized_status=in_transit"),
    ),
    row(
      "large-deep",
      `large organisation: page ${DEEP_PAGE.toLocaleString("en")}, 10 items`,
      largeOrganization.jobs / 10 >= DEEP_PAGE ? largeList(300, `&page=${DEEP_PAGE}`) : null,
    ),
    row("large-stats", "large organisation: jobStats by status", () =>
      times(600, () => statsRequest(largeOrganization.key)),
    ),
    row(
      "large-day",
      "large organisation: list of 10, updated on one day, with the exact total",
      largeList(120, `&updated_at_from=${day}&updated_at_to=${day}`),
      { isBounded: false },
    ),
  ];
}

function createPicker<Value>(values: readonly Value[]): () => Value {
  return () => values[Math.floor(Math.random() * values.length)] as Value;
}

/** Pages start within this many days: less than the feed's 30, so that no cursor expires. */
const FEED_DAYS = 25;

/** Makes requests for feed pages that start at random events. */
async function createFeedPages({ client, regularOrganizations }: GrowthDataset): Promise<() => LoadRequest> {
  const { rows } = await client.query<{ agent_id: string; transaction_id: string; position: string }>(
    `select agent_id, transaction_id::text as transaction_id, position::text as position
     from bench_message join job_event on job_event.id = event_id
     where occurred_at > now() - interval '${FEED_DAYS} days'`,
  );
  const keys = new Map(regularOrganizations.map(({ id, key }) => [id, key]));
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
