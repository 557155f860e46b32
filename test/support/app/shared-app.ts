/** Apps that all test files of a worker share, because starting one takes more than a second of CPU time. */
import { startTestApp, type TestApp } from "./app.fixture.ts";

export type SharedApp = Omit<TestApp, typeof Symbol.asyncDispose>;

/** The test run ends the worker, and drops the databases. */
const apps = new Map<"all" | "api", Promise<TestApp>>();

/**
 * Returns the worker's app, which is started at the first call. Other files have data in its database, so a test creates its own
 * organisations and users, and asserts only on those. A test that changes settings, the clock or rows of the whole service, or
 * that reads as an operator, starts its own with `startTestApp`. Without a worker (`api`), nothing changes in the background.
 */
export function sharedApp(role: "all" | "api" = "all"): Promise<SharedApp> {
  let app = apps.get(role);
  if (!app) {
    app = startTestApp({ WAYMARK_ROLE: role, WEBHOOK_ALLOW_PRIVATE: "on", TRUST_PROXY: "1" });
    apps.set(role, app);
  }
  return app;
}
