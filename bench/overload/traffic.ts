/** The mixtures: lists only, and a mixture in which some requests cost a hundred times as much as others. */
import { createGraphqlWorkload } from "../graphql/requests.ts";
import { NUMBER_PLACEHOLDER, type LoadRequest } from "../load.ts";
import { shuffled } from "../random.ts";
import type { JobsDatabase } from "../seed.ts";
import { createWorkload } from "../workload.ts";

export const mixtures = ["lists", "mixed"] as const;
export type Mixture = (typeof mixtures)[number];

/** Requests of each kind per thousand. */
const MIXED_WEIGHTS = { "list of 10": 800, "update of one": 170, "GraphQL, one job": 20, "batch of 20": 10 };
const TOTAL_REQUESTS = 20_000;

export async function createTraffic(database: JobsDatabase): Promise<Record<Mixture, LoadRequest[]>> {
  const rest = await createWorkload(database);
  const graphql = createGraphqlWorkload(rest, []);
  const makers: Record<keyof typeof MIXED_WEIGHTS, (count: number) => LoadRequest[]> = {
    "list of 10": (count) => rest.lists(count, 10),
    "update of one": (count) => rest.updates(count).map(withNumber),
    "GraphQL, one job": (count) => graphql.oneJob(count),
    "batch of 20": (count) => rest.batches(count, 20).map(withNumber),
  };
  const make = (kind: keyof typeof MIXED_WEIGHTS, count: number): LoadRequest[] =>
    makers[kind](count).map((request) => ({ ...request, kind }));
  const kinds = Object.keys(MIXED_WEIGHTS) as (keyof typeof MIXED_WEIGHTS)[];
  return {
    lists: make("list of 10", TOTAL_REQUESTS),
    mixed: shuffled(kinds.flatMap((kind) => make(kind, (TOTAL_REQUESTS * MIXED_WEIGHTS[kind]) / 1000))),
  };
}

/** Replaces the instructions of each patch, so that it changes the job each time that it is sent. */
function withNumber({ body = "", ...request }: LoadRequest): LoadRequest {
  const instructions = `Ring twice, note ${NUMBER_PLACEHOLDER}`;
  return { ...request, body: body.replaceAll(/"instructions":"[^"]*"/g, `"instructions":"${instructions}"`) };
}
