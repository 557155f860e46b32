/** Requests to the job routes of the REST API. */
import type { TestOrganization, TestApp } from "./app.fixture.ts";
import { expectData } from "./assertions.ts";
import type { ApiResponse } from "./app-instance.ts";

/** An app or a further app instance. */
export type ApiClient = Pick<TestApp, "call">;

export interface JobRequestOptions {
  headers?: Record<string, string>;
  /** Without the leading question mark. */
  query?: string;
}

/** The organisation's key and further request options. */
type JobRequestAuth = Pick<TestOrganization, "key"> & JobRequestOptions;

export function jobPath(markingNumber: string): string {
  return `/v1/jobs/by-marking/${encodeURIComponent(markingNumber)}`;
}

/** GET /v1/jobs. `query` has no leading question mark. */
export function listJobs(api: ApiClient, { key }: JobRequestAuth, query = ""): Promise<ApiResponse> {
  return api.call(`/v1/jobs?${query}`, { key });
}

export function getJob(api: ApiClient, { key }: JobRequestAuth, markingNumber: string): Promise<ApiResponse> {
  return api.call(jobPath(markingNumber), { key });
}

/** A value of each editable field. */
export const filledPatch = {
  batch_number: "B-1",
  group_code: "EAST-2",
  piece_quantity: 3,
  labels: "fragile",
  pts: 12.5,
  weight: 8.25,
  recipient_name: "Harbour Street Bakery",
  recipient_contact: "+1 555 0134",
  delivery_address: "12 Harbour Street",
  postal_code: "049315",
  scheduled_date: "2026-11-24",
  instructions: "Ring twice",
  normalized_status: "on_hold",
  failure_reason: "wrong_incomplete_address",
  scheduled_delivery_date: "2026-11-25",
  scheduled_delivery_pending: true,
};

export interface JobChange {
  sequence: number;
  occurred_at: string;
  changes: Record<string, { from: unknown; to: unknown }>;
}

/** Returns the history of a job with at most 100 changes, oldest first. */
export async function historyOf(
  api: ApiClient,
  { key }: JobRequestAuth,
  markingNumber: string,
): Promise<JobChange[]> {
  const response = await api.call(`${jobPath(markingNumber)}/history?page_size=100`, { key });
  return (expectData(response).items as JobChange[]).toReversed();
}

/** PATCH of one job. Strings are sent unchanged, other bodies as JSON. */
export function patchJob(
  api: ApiClient,
  auth: JobRequestAuth,
  markingNumber: string,
  body: unknown,
): Promise<ApiResponse> {
  return patch(api, auth, jobPath(markingNumber), body);
}

/** PATCH /v1/jobs/batch. */
export function patchBatch(api: ApiClient, auth: JobRequestAuth, jobs: unknown): Promise<ApiResponse> {
  return patch(api, auth, "/v1/jobs/batch", { jobs });
}

function patch(
  api: ApiClient,
  { key, headers = {}, query }: JobRequestAuth,
  path: string,
  body: unknown,
): Promise<ApiResponse> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const url = query === undefined ? path : `${path}?${query}`;
  return api.call(url, { key, method: "PATCH", headers, body: text });
}

/** Returns the Marking Numbers of the listed jobs, in order. */
export function markingNumbersOf({ body }: ApiResponse): string[] {
  return (body.data as { items: { marking_number: string }[] }).items.map((item) => item.marking_number);
}

/** Reads all pages of `query` by `next_cursor` and returns the Marking Numbers in order. */
export async function listAllPages(
  api: ApiClient,
  auth: JobRequestAuth,
  query: string,
  betweenPages: () => Promise<unknown> = async () => null,
): Promise<string[]> {
  const markingNumbers: string[] = [];
  for (let next = ""; ; await betweenPages()) {
    const page = await listJobs(api, auth, query + next);
    markingNumbers.push(...markingNumbersOf(page));
    const cursor = page.body.data.pagination.next_cursor as string | null;
    if (cursor === null) return markingNumbers;
    next = `&cursor=${cursor}`;
  }
}
