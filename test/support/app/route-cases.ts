/** All HTTP routes with their authentication, for tests that try each of them. */
import type { TestApp } from "./app.fixture.ts";
import { documentedRequests } from "./documented-requests.ts";

export interface RouteCase {
  method: string;
  /** With the names of its parameters: `/v1/webhook-endpoints/{id}`. */
  route: string;
  /** With IDs that do not exist. */
  path: string;
  /** The required credential. Sessions also need the app's own Origin for changes. */
  auth: "none" | "key" | "session";
  /** True if the route takes a JSON body. */
  json: boolean;
}

/** Besides those of the OpenAPI document. */
const otherRoutes = [
  "POST /auth/account-requests none json",
  "POST /auth/account-requests/answer none json",
  "POST /auth/links/check none json",
  "POST /auth/links/accept none json",
  "POST /auth/password/forgotten none json",
  "POST /auth/password/reset none json",
  "POST /auth/password/change session json",
  "PATCH /auth/profile session json",
  "POST /auth/sign-in/email none json",
  "POST /auth/sign-out session",
  "GET /auth/session session",
  "POST /auth/test-mode session",
  "GET /auth/sessions session",
  "DELETE /auth/sessions session",
  "DELETE /auth/sessions/{id} session",
  "POST /auth/two-factor/enable session json",
  "POST /auth/two-factor/verify-totp session json",
  "POST /auth/two-factor/generate-backup-codes session json",
  "POST /auth/two-factor/verify-backup-code session json",
  "POST /auth/two-factor/disable session json",
  "POST /auth/sign-in/social none json",
  "GET /auth/callback/{id} none",
  "GET /auth/sign-in-methods none",
  "POST /console-api/imports session",
  "POST /console-api/imports/sample session",
  "GET /console-api/jobs.csv session",
  "GET /auth/passkey/generate-authenticate-options none",
  "POST /auth/passkey/verify-authentication none json",
  "GET /auth/passkey/generate-register-options session",
  "POST /auth/passkey/verify-registration session json",
  "GET /auth/passkey/list-user-passkeys session",
  "POST /auth/passkey/update-passkey session json",
  "POST /auth/passkey/delete-passkey session json",
  "GET /openapi.json none",
  "GET /docs none",
  "GET /sdk none",
  "GET /sdk/{name} none",
  "GET /health/live none",
  "GET /health/ready none",
  "GET /metrics none",
];

/** Not included: GraphQL, its explorers, the console's pages and assets, and the task dashboard. */
export const routeCases: readonly RouteCase[] = [
  ...documentedRequests.map(({ name, body }) => `${name} key${body === null ? "" : " json"}`),
  ...otherRoutes,
].map((text) => {
  const [method = "", route = "", auth, json] = text.split(" ");
  const path = route.replaceAll(/\{\w+\}/g, "00000000-0000-7000-8000-000000000000");
  return { method, route, path, auth: auth as RouteCase["auth"], json: json !== undefined };
});

/** Sends a request with the app's own Origin, without following redirects. */
export function sendFromOwnPage(
  app: Pick<TestApp, "url">,
  { method, path }: Pick<RouteCase, "method" | "path">,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers({ origin: app.url, ...Object.fromEntries(new Headers(init.headers)) });
  return fetch(app.url + path, { ...init, method, headers, redirect: "manual" });
}
