/** Everything that answers over HTTP, by path, for tests that try each: who may ask, and what is sent. */
import type { TestApp } from "./start-app.ts";

export interface Door {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  /** What lets somebody in: nothing, an API key, or a person's session (from a page of our own where it changes something). */
  by: "nobody" | "key" | "session";
  /** Whether it takes JSON. */
  json?: true;
}

const MISSING_ID = "00000000-0000-7000-8000-000000000000";

/** Beside these stand GraphQL, its explorers, the console's page and files, and the task dashboard. */
export const doors: readonly Door[] = [
  { method: "GET", path: "/v1/jobs", by: "key" },
  { method: "GET", path: "/v1/jobs/by-marking/NONE", by: "key" },
  { method: "GET", path: "/v1/jobs/by-marking/NONE/history", by: "key" },
  { method: "PATCH", path: "/v1/jobs/by-marking/NONE", by: "key", json: true },
  { method: "PATCH", path: "/v1/jobs/batch", by: "key", json: true },
  { method: "GET", path: "/v1/events", by: "key" },
  { method: "GET", path: "/v1/reference/statuses", by: "key" },
  { method: "GET", path: "/v1/reference/failure-reasons", by: "key" },
  { method: "POST", path: "/auth/account-requests", by: "nobody", json: true },
  { method: "POST", path: "/auth/account-requests/answer", by: "nobody", json: true },
  { method: "POST", path: "/auth/links/check", by: "nobody", json: true },
  { method: "POST", path: "/auth/links/accept", by: "nobody", json: true },
  { method: "POST", path: "/auth/password/forgotten", by: "nobody", json: true },
  { method: "POST", path: "/auth/password/reset", by: "nobody", json: true },
  { method: "POST", path: "/auth/password/change", by: "session", json: true },
  { method: "PATCH", path: "/auth/profile", by: "session", json: true },
  { method: "POST", path: "/auth/sign-in", by: "nobody", json: true },
  { method: "POST", path: "/auth/second-factor", by: "nobody", json: true },
  { method: "POST", path: "/auth/reauthenticate", by: "session", json: true },
  { method: "POST", path: "/auth/sign-out", by: "session" },
  { method: "GET", path: "/auth/session", by: "session" },
  { method: "GET", path: "/auth/sessions", by: "session" },
  { method: "DELETE", path: "/auth/sessions", by: "session" },
  { method: "DELETE", path: `/auth/sessions/${MISSING_ID}`, by: "session" },
  { method: "POST", path: "/auth/two-factor/begin", by: "session", json: true },
  { method: "POST", path: "/auth/two-factor/confirm", by: "session", json: true },
  { method: "POST", path: "/auth/two-factor/recovery-codes", by: "session", json: true },
  { method: "POST", path: "/auth/two-factor/disable", by: "session", json: true },
  { method: "POST", path: "/console-data/imports", by: "session" },
  { method: "GET", path: "/console-data/jobs.csv", by: "session" },
  { method: "GET", path: "/openapi.json", by: "nobody" },
  { method: "GET", path: "/docs/operations.json", by: "nobody" },
  { method: "GET", path: "/docs", by: "nobody" },
  { method: "GET", path: "/health/live", by: "nobody" },
  { method: "GET", path: "/health/ready", by: "nobody" },
  { method: "GET", path: "/metrics", by: "nobody" },
];

/** A request as a page of the service sends it. */
export function knock(
  app: Pick<TestApp, "url">,
  { method, path }: Pick<Door, "method" | "path">,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers({ origin: app.url, ...Object.fromEntries(new Headers(init.headers)) });
  return fetch(app.url + path, { ...init, method, headers, redirect: "manual" });
}
