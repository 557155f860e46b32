/** Requests to the job routes of the REST API. */
import type { TestOrganization, TestApp } from "./app.fixture.ts";
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
