/** The mixtures: lists only, and a mixture in which some requests cost a hundred times as much as others. */
import { createGraphqlWorkload } from "../graphql/workload.ts";
import type { BenchDatabase } from "../database.ts";
import { createWorkload, type Workload } from "../workload.ts";
import type { LoadRequest } from "../load.ts";
import { NUMBER_PLACEHOLDER, type TrafficRequest } from "./protocol.ts";

export const mixtures = ["lists", "mixed"] as const;
export type Mixture = (typeof mixtures)[number];

/** Requests of each kind per thousand. */
const MIXED_WEIGHTS = { "list of 10": 800, "update of one": 170, "GraphQL, one job": 20, "batch of 20": 10 };
const TOTAL_REQUESTS = 20_000;

export async function createTraffic(database: BenchDatabase): Promise<Record<Mixture, TrafficRequest[]>> {
  const rest = await createWorkload(database);
  const graphql = createGraphqlWorkload(rest, []);
  const makers: Record<keyof typeof MIXED_WEIGHTS, (count: number) => LoadRequest[]> = {
    "list of 10": (count) => rest.lists(count, 10),
    "update of one": (count) => rest.updates(count).map(withNumber),
    "GraphQL, one job": (count) => graphql.oneJob(count),
    "batch of 20": (count) => batches(rest, count),
  };
  const kinds = Object.keys(MIXED_WEIGHTS) as (keyof typeof MIXED_WEIGHTS)[];
  return {
    lists: labelled("list of 10", makers["list of 10"](TOTAL_REQUESTS)),
    mixed: shuffled(
      kinds.flatMap((kind) => labelled(kind, makers[kind]((TOTAL_REQUESTS * MIXED_WEIGHTS[kind]) / 1000))),
    ),
  };
}

function labelled(kind: string, requests: readonly LoadRequest[]): TrafficRequest[] {
  return requests.map((request) => ({ ...request, kind }));
}

function withNumber({ body = "", ...request }: LoadRequest): LoadRequest {
  const patch = JSON.parse(body) as Record<string, unknown>;
  return {
    ...request,
    body: JSON.stringify({ ...patch, instructions: `Ring twice, note ${NUMBER_PLACEHOLDER}` }),
  };
}

function batches(rest: Workload, count: number): LoadRequest[] {
  return rest.batches(count, 20).map(({ body = "", ...request }) => {
    const { jobs } = JSON.parse(body) as { jobs: Record<string, unknown>[] };
    const numbered = jobs.map((job) => ({ ...job, instructions: `Ring twice, note ${NUMBER_PLACEHOLDER}` }));
    return { ...request, body: JSON.stringify({ jobs: numbered }) };
  });
}

function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
}
