/** Requests like those of partners; larger organisations send more. */
import type pg from "pg";
import type { LoadRequest } from "./load.ts";
import { createRandom } from "./random.ts";
import { HISTORY_DAYS, type JobsDatabase } from "./seed.ts";

interface SampledJob {
  marking_number: string;
  batch_number: string;
  agent_id: string;
  contractor_id: string | null;
}

export const filterNames = [
  "none",
  "status",
  "marking_number",
  "batch_number",
  "updated range",
  "scheduled range",
] as const;
export type FilterName = (typeof filterNames)[number];

export interface Workload {
  /** Makes list requests with pages of `pageSize`, which use the filters in rotation. */
  lists(count: number, pageSize: number, filters?: readonly FilterName[]): LoadRequest[];
  /** Makes `count` requests for one page of one organisation. */
  page(count: number, key: string, page: number, pageSize?: number): LoadRequest[];
  updates(count: number): LoadRequest[];
  batches(count: number, items: number, query?: string): LoadRequest[];
  /** Makes look-ups of up to `items` Marking Numbers of the organisation. */
  lookUps(count: number, organization: { id: string; key: string }, items: number): LoadRequest[];
}

/** Statuses that the requests set and filter by. */
export const STATUSES = [
  "completed",
  "in_transit",
  "out_for_delivery",
  "pending",
  "scheduled",
  "failed",
  "on_hold",
  "returned",
];
const SAMPLE_PERCENT = 10;

export interface WorkloadOptions {
  /** The share of all jobs to sample, in percent. */
  samplePercent?: number;
  /** The uuid of an agent whose jobs are excluded. */
  excludedAgentId?: string;
}

export async function createWorkload(
  database: Pick<JobsDatabase, "client" | "organizations" | "seededAt">,
  options: WorkloadOptions = {},
): Promise<Workload> {
  const jobs = await sampleJobs(database.client, options);
  const keys = new Map(database.organizations.map(({ id, key }) => [id, key]));
  const { pick, happens, queryOf, patch } = createRequestSampler(database.seededAt);
  const byOwner = Map.groupBy(
    jobs.flatMap((job) => organizationsOf(job).map((owner) => ({ owner, number: job.marking_number }))),
    ({ owner }) => owner,
  );

  /** Picks a job and one of the organisations that see it, so organisations occur in proportion to their jobs. */
  const draw = (): { job: SampledJob; owner: string; key: string } => {
    const job = pick(jobs);
    const owner = job.contractor_id !== null && happens(0.5) ? job.contractor_id : job.agent_id;
    return { job, owner, key: keys.get(owner) as string };
  };

  /** Picks up to `items` different Marking Numbers of an organisation. */
  const drawNumbers = (owner: string, items: number): string[] => {
    const own = byOwner.get(owner) ?? [];
    const chosen = new Set<string>();
    while (chosen.size < Math.min(items, own.length)) chosen.add(pick(own).number);
    return [...chosen];
  };

  return {
    lists: (count, pageSize, filters = filterNames) =>
      times(count, (at) => {
        const { job, key } = draw();
        const query = queryOf(filters[at % filters.length] as FilterName, job);
        return { method: "GET", path: `/v1/jobs?page_size=${pageSize}${query}`, key };
      }),
    page: (count, key, page, pageSize = 10) =>
      times(count, () => ({ method: "GET", path: `/v1/jobs?page=${page}&page_size=${pageSize}`, key })),
    updates: (count) =>
      times(count, () => {
        const { job, key } = draw();
        const path = `/v1/jobs/by-marking/${job.marking_number}`;
        return { method: "PATCH", path, key, body: JSON.stringify(patch()) };
      }),
    batches: (count, items, query = "") =>
      times(count, () => {
        const { owner, key } = draw();
        const body = {
          jobs: drawNumbers(owner, items).map((number) => ({ marking_number: number, ...patch() })),
        };
        return { method: "PATCH", path: `/v1/jobs/batch${query}`, key, body: JSON.stringify(body) };
      }),
    lookUps: (count, { id, key }, items) =>
      times(count, () => {
        const body = JSON.stringify({ marking_numbers: drawNumbers(id, items) });
        return { method: "POST", path: "/v1/jobs/lookup", key, body };
      }),
  };
}

interface RequestSampler {
  pick: <Value>(values: readonly Value[]) => Value;
  happens: (of: number) => boolean;
  /** Returns the query parameters of `filter`, with values that match jobs like `job`. */
  queryOf: (filter: FilterName, job: SampledJob) => string;
  /** Returns a patch with values that no earlier patch had. */
  patch: () => Record<string, unknown>;
}

function createRequestSampler(seededAt: Date): RequestSampler {
  // Seeded by the time: with a fixed seed, a second run would repeat the patches of the first and change nothing.
  const random = createRandom(Date.now());
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick: RequestSampler["pick"] = (values) => values[below(values.length)] as (typeof values)[number];
  const day = (daysBefore: number): string =>
    new Date(seededAt.getTime() - daysBefore * 86_400_000).toISOString().slice(0, 10);
  let patches = 0;
  return {
    pick,
    happens: (of) => random() < of,
    queryOf(filter, job) {
      const from = 3 + below(HISTORY_DAYS - 13);
      const to = from - below(3);
      const queries: Record<FilterName, string> = {
        none: "",
        status: `&normalized_status=${pick(STATUSES)}`,
        marking_number: `&marking_number=${job.marking_number}`,
        batch_number: `&batch_number=${job.batch_number}`,
        "updated range": `&updated_at_from=${day(from)}&updated_at_to=${day(to)}`,
        "scheduled range": `&scheduled_date_from=${day(from)}&scheduled_date_to=${day(to)}`,
      };
      return queries[filter];
    },
    patch() {
      patches += 1;
      const instructions = `Ring twice, note ${patches} (${below(1e9)})`;
      if (patches % 3 === 0)
        return { instructions, weight: below(3000) / 100, recipient_name: `Noor ${patches}` };
      const changes = { normalized_status: pick(STATUSES), instructions };
      if (patches % 3 === 1) return changes;
      return { ...changes, failure_reason: "recipient_unavailable", scheduled_date: day(-below(9)) };
    },
  };
}

function organizationsOf({ agent_id: agent, contractor_id: contractor }: SampledJob): string[] {
  return contractor === null ? [agent] : [agent, contractor];
}

export function times(count: number, make: (at: number) => LoadRequest): LoadRequest[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

async function sampleJobs(
  client: pg.Client,
  { samplePercent = SAMPLE_PERCENT, excludedAgentId }: WorkloadOptions,
): Promise<SampledJob[]> {
  const { rows } = await client.query<SampledJob>(
    `select marking_number, batch_number, agent_id, contractor_id from job
     tablesample bernoulli (${samplePercent}) where agent_id is distinct from $1`,
    [excludedAgentId],
  );
  return rows;
}
