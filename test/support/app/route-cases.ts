/** All HTTP routes with their authentication, for tests that try each of them. */
import type { TestApp } from "./app.fixture.ts";

export interface RouteCase {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  /** The required credential. Sessions also need the app's own Origin for changes. */
  auth: "none" | "key" | "session";
  /** True if the route takes a JSON body. */
  json?: true;
}

const MISSING_ID = "00000000-0000-7000-8000-000000000000";

/** Not included: GraphQL, its explorers, the console's pages and assets, and the task dashboard. */
export const routeCases: readonly RouteCase[] = [
  { method: "GET", path: "/v1/jobs", auth: "key" },
  { method: "GET", path: "/v1/jobs/by-marking/NONE", auth: "key" },
  { method: "GET", path: "/v1/jobs/by-marking/NONE/history", auth: "key" },
  { method: "PATCH", path: "/v1/jobs/by-marking/NONE", auth: "key", json: true },
  { method: "PATCH", path: "/v1/jobs/batch", auth: "key", json: true },
  { method: "GET", path: "/v1/jobs/stats", auth: "key" },
  { method: "POST", path: "/v1/jobs/lookup", auth: "key", json: true },
  { method: "GET", path: "/v1/events", auth: "key" },
  { method: "GET", path: "/v1/webhook-endpoints", auth: "key" },
  { method: "POST", path: "/v1/webhook-endpoints", auth: "key", json: true },
  { method: "GET", path: "/v1/webhook-endpoints/whe_NONE", auth: "key" },
  { method: "GET", path: "/v1/webhook-endpoints/whe_NONE/attempts", auth: "key" },
  { method: "PATCH", path: "/v1/webhook-endpoints/whe_NONE", auth: "key", json: true },
  { method: "DELETE", path: "/v1/webhook-endpoints/whe_NONE", auth: "key" },
  { method: "POST", path: "/v1/webhook-endpoints/whe_NONE/rotate-secret", auth: "key" },
  { method: "POST", path: "/v1/webhook-endpoints/whe_NONE/pause", auth: "key" },
  { method: "POST", path: "/v1/webhook-endpoints/whe_NONE/resume", auth: "key", json: true },
  { method: "POST", path: "/v1/webhook-endpoints/whe_NONE/test", auth: "key" },
  { method: "POST", path: "/v1/webhook-endpoints/whe_NONE/replay", auth: "key", json: true },
  { method: "GET", path: "/v1/webhook-deliveries", auth: "key" },
  { method: "GET", path: "/v1/webhook-deliveries/dlv_NONE", auth: "key" },
  { method: "POST", path: "/v1/webhook-deliveries/dlv_NONE/replay", auth: "key" },
  { method: "GET", path: "/v1/reference/statuses", auth: "key" },
  { method: "GET", path: "/v1/reference/failure-reasons", auth: "key" },
  { method: "GET", path: "/v1/me", auth: "key" },
  { method: "GET", path: "/v1/requests", auth: "key" },
  { method: "GET", path: "/v1/requests/NONE", auth: "key" },
  { method: "GET", path: "/v1/api-keys", auth: "key" },
  { method: "POST", path: "/v1/api-keys", auth: "key", json: true },
  { method: "POST", path: "/v1/api-keys/NONE/rotate", auth: "key" },
  { method: "DELETE", path: "/v1/api-keys/NONE", auth: "key" },
  { method: "POST", path: "/v1/test/jobs", auth: "key" },
  { method: "POST", path: "/v1/test/jobs/by-marking/NONE/run", auth: "key", json: true },
  { method: "DELETE", path: "/v1/test/jobs/by-marking/NONE/run", auth: "key" },
  { method: "POST", path: "/v1/test/events/NONE", auth: "key" },
  { method: "POST", path: "/v1/test/reset", auth: "key" },
  { method: "POST", path: "/v1/test/jobs/by-marking/NONE/reassign", auth: "key", json: true },
  { method: "POST", path: "/v1/webhook-endpoints/whe_NONE/retry", auth: "key" },
  { method: "POST", path: "/auth/account-requests", auth: "none", json: true },
  { method: "POST", path: "/auth/account-requests/answer", auth: "none", json: true },
  { method: "POST", path: "/auth/links/check", auth: "none", json: true },
  { method: "POST", path: "/auth/links/accept", auth: "none", json: true },
  { method: "POST", path: "/auth/password/forgotten", auth: "none", json: true },
  { method: "POST", path: "/auth/password/reset", auth: "none", json: true },
  { method: "POST", path: "/auth/password/change", auth: "session", json: true },
  { method: "PATCH", path: "/auth/profile", auth: "session", json: true },
  { method: "POST", path: "/auth/sign-in", auth: "none", json: true },
  { method: "POST", path: "/auth/two-factor", auth: "none", json: true },
  { method: "POST", path: "/auth/reauthenticate", auth: "session", json: true },
  { method: "POST", path: "/auth/sign-out", auth: "session" },
  { method: "GET", path: "/auth/session", auth: "session" },
  { method: "POST", path: "/auth/test-mode", auth: "session" },
  { method: "GET", path: "/auth/sessions", auth: "session" },
  { method: "DELETE", path: "/auth/sessions", auth: "session" },
  { method: "DELETE", path: `/auth/sessions/${MISSING_ID}`, auth: "session" },
  { method: "POST", path: "/auth/two-factor/begin", auth: "session", json: true },
  { method: "POST", path: "/auth/two-factor/confirm", auth: "session", json: true },
  { method: "POST", path: "/auth/two-factor/recovery-codes", auth: "session", json: true },
  { method: "POST", path: "/auth/two-factor/disable", auth: "session", json: true },
  { method: "POST", path: "/console-api/imports", auth: "session" },
  { method: "POST", path: "/console-api/imports/sample", auth: "session" },
  { method: "GET", path: "/console-api/jobs.csv", auth: "session" },
  { method: "GET", path: "/openapi.json", auth: "none" },
  { method: "GET", path: "/docs", auth: "none" },
  { method: "GET", path: "/sdk", auth: "none" },
  { method: "GET", path: "/sdk/none", auth: "none" },
  { method: "GET", path: "/health/live", auth: "none" },
  { method: "GET", path: "/health/ready", auth: "none" },
  { method: "GET", path: "/metrics", auth: "none" },
];

/** Sends a request with the app's own Origin, without following redirects. */
export function sendFromOwnPage(
  app: Pick<TestApp, "url">,
  { method, path }: Pick<RouteCase, "method" | "path">,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers({ origin: app.url, ...Object.fromEntries(new Headers(init.headers)) });
  return fetch(app.url + path, { ...init, method, headers, redirect: "manual" });
}
