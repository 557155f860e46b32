/** Apps that all test files of a worker share, because starting one takes more than a second of CPU time. */
import { beforeAll } from "vitest";
import { startTestApp, type TestApp, type TestOrganization } from "./app.fixture.ts";

export type SharedApp = Omit<TestApp, typeof Symbol.asyncDispose>;

/** The test run ends the worker, and drops the databases. */
const kept = new Map<string, Promise<unknown>>();

/** Returns what `start` returned when it was first called with this name in the worker. */
export function keepForWorker<T>(name: string, start: () => Promise<T>): Promise<T> {
  const value = (kept.get(name) as Promise<T> | undefined) ?? start();
  kept.set(name, value);
  return value;
}

/**
 * Returns the worker's app, which is started at the first call. Other files have data in its database, so a test creates its own
 * organisations and users, and asserts only on those. A test that changes settings, the clock or rows of the whole service, or
 * that reads as an operator, starts its own with `startTestApp`. Without a worker (`api`), nothing changes in the background.
 */
export function sharedApp(role: "all" | "api" = "all"): Promise<SharedApp> {
  const env = { WAYMARK_ROLE: role, WEBHOOK_ALLOW_PRIVATE: "on", TRUST_PROXY: "1" };
  return keepForWorker(`app ${role}`, () => startTestApp(env));
}

/**
 * The worker's app without a worker, and new organisations, for a file that needs no other set-up of them. They have their members
 * when the tests run. Call it once per test file, outside tests.
 */
export function useSharedApp() {
  const app = {} as SharedApp;
  const agent = {} as TestOrganization;
  const contractor = {} as TestOrganization;
  beforeAll(async () => {
    Object.assign(app, await sharedApp("api"));
    Object.assign(agent, await app.createOrganization("agent"));
    Object.assign(contractor, await app.createOrganization("contractor"));
  });
  return { app, agent, contractor };
}

/** Call it in a file that fakes timers: a shared app would lose those that it sets meanwhile. Later files start new apps. */
export async function endSharedApps(): Promise<void> {
  const values = await Promise.all(kept.values());
  kept.clear();
  for (const value of values as Partial<AsyncDisposable>[]) await value[Symbol.asyncDispose]?.();
}
