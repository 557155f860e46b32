/** The job routes as a partner calls them. */
import type { Answer, Partner, TestApp } from "./start-app.ts";

type Caller = Pick<TestApp, "call">;
type Caller1 = Pick<Partner, "key">;

export interface CallOptions {
  headers?: Record<string, string>;
  /** Without its question mark. */
  query?: string;
}

export function jobPath(markingNumber: string): string {
  return `/v1/jobs/by-marking/${encodeURIComponent(markingNumber)}`;
}

/** PATCH of one job; a string is sent as it is, anything else as JSON. */
export function patchJob(
  app: Caller,
  { key }: Caller1,
  markingNumber: string,
  body: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  return patch(app, key, jobPath(markingNumber), body, options);
}

export function patchBatch(
  app: Caller,
  { key }: Caller1,
  jobs: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  return patch(app, key, "/v1/jobs/batch", { jobs }, options);
}
