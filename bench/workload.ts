/** What is asked of the servers: requests drawn as partners would send them, from organisations by their size. */
import type pg from "pg";
import type { BenchDatabase } from "./database.ts";
import type { LoadRequest } from "./load.ts";
import { DAYS } from "./seed.ts";

interface DrawnJob {
  marking_number: string;
  batch_number: string;
  agent_id: string;
  contractor_id: string | null;
}

export type FilterName = "none" | "status" | "marking_number" | "batch_number" | "updated range" | "scheduled range";
export const filterNames: FilterName[] = ["none", "status", "marking_number", "batch_number", "updated range", "scheduled range"];

export interface Workload {
  /** Pages of `pageSize`, each with the next of `filters`. */
  lists(count: number, pageSize: number, filters?: readonly FilterName[]): LoadRequest[];
  /** One page, of one organisation, over and over. */
  page(count: number, key: string, page: number): LoadRequest[];
  updates(count: number): LoadRequest[];
  batches(count: number, items: number, query?: string): LoadRequest[];
}

const STATUSES = ["completed", "in_transit", "out_for_delivery", "pending", "scheduled", "failed", "on_hold", "returned"];
const SAMPLE_PERCENT = 10;

export async function createWorkload({ client, organizations, seededAt }: BenchDatabase): Promise<Workload> {
  const jobs = await sample(client);
  const keys = new Map(organizations.map(({ id, key }) => [id, key]));
  const random = randomFrom(2026);
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  const below = (limit: number): number => Math.floor(random() * limit);
  const day = (daysBefore: number): string => new Date(seededAt.getTime() - daysBefore * 86_400_000).toISOString().slice(0, 10);
  const byOwner = Map.groupBy(
    jobs.flatMap((job) => [[job.agent_id, job] as const, ...(job.contractor_id ? [[job.contractor_id, job] as const] : [])]),
    ([owner]) => owner,
  );

  /** A job and one of the two who see it: so organisations come as often as they have jobs. */
  const draw = (): { job: DrawnJob; owner: string; key: string } => {
    const job = pick(jobs);
    const owner = job.contractor_id !== null && random() < 0.5 ? job.contractor_id : job.agent_id;
    return { job, owner, key: keys.get(owner) as string };
  };

  const queryOf = (filter: FilterName, job: DrawnJob): string => {
    const from = 3 + below(DAYS - 13);
    switch (filter) {
      case "none":
        return "";
      case "status":
        return `&normalized_status=${pick(STATUSES)}`;
      case "marking_number":
        return `&marking_number=${job.marking_number}`;
      case "batch_number":
        return `&batch_number=${job.batch_number}`;
      case "updated range":
        return `&updated_at_from=${day(from)}&updated_at_to=${day(from - below(3))}`;
      case "scheduled range":
        return `&scheduled_date_from=${day(from)}&scheduled_date_to=${day(from - below(3))}`;
    }
  };

  let patches = 0;
  const patch = (): Record<string, unknown> => {
    patches += 1;
    const changes = { normalized_status: pick(STATUSES), instructions: `Ring twice, note ${patches}` };
    if (patches % 3 === 0) return { ...changes, failure_reason: "recipient_unavailable", scheduled_date: day(-below(9)) };
    return patches % 3 === 1 ? changes : { instructions: changes.instructions, weight: below(3000) / 100, recipient_name: `Noor ${patches}` };
  };
  const times = (count: number, make: (at: number) => LoadRequest): LoadRequest[] => Array.from({ length: count }, (_, at) => make(at));

  return {
    lists: (count, pageSize, filters = filterNames) =>
      times(count, (at) => {
        const { job, key } = draw();
        const query = queryOf(filters[at % filters.length] as FilterName, job);
        return { method: "GET", path: `/v1/jobs?page_size=${pageSize}${query}`, key };
      }),
    page: (count, key, page) => times(count, () => ({ method: "GET", path: `/v1/jobs?page=${page}&page_size=10`, key })),
    updates: (count) =>
      times(count, () => {
        const { job, key } = draw();
        return { method: "PATCH", path: `/v1/jobs/by-marking/${job.marking_number}`, key, body: JSON.stringify(patch()) };
      }),
    batches: (count, items, query = "") =>
      times(count, () => {
        const { owner, key } = draw();
        const own = byOwner.get(owner) ?? [];
        const chosen = new Set<string>();
        while (chosen.size < Math.min(items, own.length)) chosen.add(pick(own)[1].marking_number);
        const body = { jobs: [...chosen].map((number) => ({ marking_number: number, ...patch() })) };
        return { method: "PATCH", path: `/v1/jobs/batch${query}`, key, body: JSON.stringify(body) };
      }),
  };
}

async function sample(client: pg.Client): Promise<DrawnJob[]> {
  const { rows } = await client.query<DrawnJob>(
    `select marking_number, batch_number, agent_id, contractor_id from job
     tablesample bernoulli (${SAMPLE_PERCENT}) repeatable (1)`,
  );
  return rows;
}

/** mulberry32: the same draws in every run. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
