/** The job routes as a partner calls them. */
import type { Partner, TestApp } from "./start-app.ts";
import type { Answer } from "./instance.ts";

/** An app, or another instance of it. */
export type Api = Pick<TestApp, "call">;

export interface CallOptions {
  headers?: Record<string, string>;
  /** Without its question mark. */
  query?: string;
}

/** A partner, and what else is to stand in its request. */
type Caller = Pick<Partner, "key"> & CallOptions;

export function jobPath(markingNumber: string): string {
  return `/v1/jobs/by-marking/${encodeURIComponent(markingNumber)}`;
}

/** GET /v1/jobs; `query` without its question mark. */
export function listJobs(api: Api, { key }: Caller, query = ""): Promise<Answer> {
  return api.call(`/v1/jobs?${query}`, { key });
}

export function getJob(api: Api, { key }: Caller, markingNumber: string): Promise<Answer> {
  return api.call(jobPath(markingNumber), { key });
}

/** PATCH of one job; a string is sent as it is, anything else as JSON. */
export function patchJob(api: Api, caller: Caller, markingNumber: string, body: unknown): Promise<Answer> {
  return patch(api, caller, jobPath(markingNumber), body);
}

/** PATCH of a batch with `jobs`. */
export function patchBatch(api: Api, caller: Caller, jobs: unknown): Promise<Answer> {
  return patch(api, caller, "/v1/jobs/batch", { jobs });
}

function patch(api: Api, { key, headers = {}, query }: Caller, path: string, body: unknown): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const url = query === undefined ? path : `${path}?${query}`;
  return api.call(url, { key, method: "PATCH", headers, body: text });
}

/** The Marking Numbers of a list's items, in their order. */
export function numbersOf({ body }: Answer): string[] {
  return (body.data as { items: { marking_number: string }[] }).items.map((item) => item.marking_number);
}

/** Follows `next_cursor` from the first page of `query` to the end; answers with the Marking Numbers in order. */
export async function walk(
  api: Api,
  caller: Caller,
  query: string,
  between: () => Promise<unknown> = async () => null,
): Promise<string[]> {
  const numbers: string[] = [];
  for (let next = ""; ; await between()) {
    const answer = await listJobs(api, caller, query + next);
    numbers.push(...numbersOf(answer));
    const cursor = answer.body.data.pagination.next_cursor as string | null;
    if (cursor === null) return numbers;
    next = `&cursor=${cursor}`;
  }
}
