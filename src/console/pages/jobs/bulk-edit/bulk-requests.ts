/** The requests of a bulk edit over GraphQL, and what their failures mean for it. */
import type { ApolloClient } from "@apollo/client";
import { CombinedGraphQLErrors, ServerError } from "@apollo/client/errors";
import { retryAfterSeconds } from "../../../app/api/apollo.ts";
import {
  JobsToEditDocument,
  MatchingJobsDocument,
  RescheduleJobsDocument,
  UpdateJobsDocument,
  type BulkChangeFragment,
  type RescheduleJobInput,
  type UpdateJobInput,
} from "../../../generated/bulk-edit.ts";
import { CHUNK_SIZE, type BulkChange, type BulkRequests, type JobsToChange } from "./plan.ts";
import type { JobFilter } from "../../../generated/jobs.ts";

type Results = BulkChangeFragment["results"];

/** Thousands of jobs, and those of a dry run, must not reach the cache. */
const fetchPolicy = "no-cache";

/** `hasKeys`: the user's organisation can repeat a request safely. Operators can't. */
export function bulkRequests(client: ApolloClient, hasKeys: boolean): BulkRequests {
  const update = async (
    items: readonly UpdateJobInput[],
    dryRun: boolean,
    key?: string,
  ): Promise<Results> => {
    const variables = { items: [...items], dryRun };
    const { data } = await client.mutate({
      mutation: UpdateJobsDocument,
      variables,
      fetchPolicy,
      ...keyed(key),
    });
    return required(data).change.results;
  };
  const send = async (
    change: BulkChange,
    targets: readonly RescheduleJobInput[],
    { dryRun, key }: { dryRun: boolean; key?: string },
  ): Promise<Results> => {
    if (change.kind === "edit") {
      const { patch } = change;
      return await update(
        targets.map((target) => ({ ...target, patch })),
        dryRun,
        key,
      );
    }
    const { dueDate, confirmed } = change;
    const variables = { items: [...targets], dueDate, confirmed, dryRun };
    const options = { mutation: RescheduleJobsDocument, variables, fetchPolicy, ...keyed(key) } as const;
    const { data } = await client.mutate(options);
    return required(data).change.results;
  };
  const keyed = (key: string | undefined) =>
    hasKeys && key !== undefined ? { context: { headers: { "Idempotency-Key": key } } } : {};
  return {
    read: (jobs, after) =>
      jobs.kind === "matching"
        ? readMatching(client, jobs.filter, after)
        : readSelected(client, jobs.markingNumbers, Number(after ?? 0)),
    dryRun: (change, targets) => send(change, targets, { dryRun: true }),
    apply: (change, targets, key) => send(change, targets, { dryRun: false, key }),
    restore: (items, key) => update(items, false, key),
    retryAfterMs,
  };
}

async function readMatching(
  client: ApolloClient,
  filter: JobFilter | null,
  after: string | null,
): Promise<JobsToChange> {
  const query = MatchingJobsDocument;
  const { data } = await client.query({ query, variables: { filter, after }, fetchPolicy });
  const { nodes, pageInfo } = required(data?.jobs);
  return {
    jobs: nodes.map((job) => ({ markingNumber: job.markingNumber, job })),
    next: pageInfo.hasNextPage ? pageInfo.endCursor : null,
  };
}

async function readSelected(
  client: ApolloClient,
  markingNumbers: readonly string[],
  from: number,
): Promise<JobsToChange> {
  const to = from + CHUNK_SIZE;
  const chunk = markingNumbers.slice(from, to);
  const variables = { markingNumbers: chunk };
  const { data } = await client.query({ query: JobsToEditDocument, variables, fetchPolicy });
  const jobs = required(data?.jobsByMarkingNumber);
  return {
    jobs: chunk.map((markingNumber, index) => ({ markingNumber, job: jobs[index] ?? null })),
    next: to < markingNumbers.length ? String(to) : null,
  };
}

function required<Data>(data: Data | null | undefined): Data {
  if (data === null || data === undefined) throw new Error("The server returned no data");
  return data;
}

const IN_FLIGHT_DELAY_MS = 1_000;

/** The delay that the server asks for. The repeated request may also arrive while the first one is in flight. */
function retryAfterMs(error: unknown): number | null {
  const seconds = retryAfterSeconds(error);
  if (seconds !== null) return seconds * 1_000;
  return codeOf(error) === "CONFLICT" ? IN_FLIGHT_DELAY_MS : null;
}

/** Of requests that the server rejected before it changed anything. */
const REJECTIONS = new Set([
  "RATE_LIMITED",
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "REAUTHENTICATION_REQUIRED",
  "BAD_USER_INPUT",
  "BAD_REQUEST",
]);

export function mayHaveApplied(error: unknown): boolean {
  if (ServerError.is(error)) return error.statusCode >= 500;
  return !REJECTIONS.has(codeOf(error) ?? "");
}

function codeOf(error: unknown): string | null {
  if (!CombinedGraphQLErrors.is(error)) return null;
  return String(error.errors[0]?.extensions?.["code"]);
}
