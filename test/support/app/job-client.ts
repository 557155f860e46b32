/** The job routes as a partner calls them. */
import type { TestOrganization, TestApp } from "./app.fixture.ts";
import type { ApiResponse } from "./app-instance.ts";

/** An app, or another instance of it. */
export type ApiClient = Pick<TestApp, "call">;

export interface JobRequestOptions {
  headers?: Record<string, string>;
  /** Without its question mark. */
  query?: string;
}

/** A partner, and what else is to stand in its request. */
type JobRequestAuth = Pick<TestOrganization, "key"> & JobRequestOptions;

export function jobPath(markingNumber: string): string {
  return `/v1/jobs/by-marking/${encodeURIComponent(markingNumber)}`;
}

/** GET /v1/jobs; `query` without its question mark. */
export function listJobs(api: ApiClient, { key }: JobRequestAuth, query = ""): Promise<ApiResponse> {
  return api.call(`/v1/jobs?${query}`, { key });
}

export function getJob(api: ApiClient, { key }: JobRequestAuth, markingNumber: string): Promise<ApiResponse> {
  return api.call(jobPath(markingNumber), { key });
}

/** PATCH of one job; a string is sent as it is, anything else as JSON. */
export function patchJob(
  api: ApiClient,
  caller: JobRequestAuth,
  markingNumber: string,
  body: unknown,
): Promise<ApiResponse> {
  return patch(api, caller, jobPath(markingNumber), body);
}

/** PATCH of a batch with `jobs`. */
export function patchBatch(api: ApiClient, caller: JobRequestAuth, jobs: unknown): Promise<ApiResponse> {
  return patch(api, caller, "/v1/jobs/batch", { jobs });
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

/** The Marking Numbers of a list's items, in their order. */
export function markingNumbersOf({ body }: ApiResponse): string[] {
  return (body.data as { items: { marking_number: string }[] }).items.map((item) => item.marking_number);
}

/** Follows `next_cursor` from the first page of `query` to the end; answers with the Marking Numbers in order. */
export async function listAllPages(
  api: ApiClient,
  caller: JobRequestAuth,
  query: string,
  betweenPages: () => Promise<unknown> = async () => null,
): Promise<string[]> {
  const markingNumbers: string[] = [];
  for (let next = ""; ; await betweenPages()) {
    const answer = await listJobs(api, caller, query + next);
    markingNumbers.push(...markingNumbersOf(answer));
    const cursor = answer.body.data.pagination.next_cursor as string | null;
    if (cursor === null) return markingNumbers;
    next = `&cursor=${cursor}`;
  }
}
