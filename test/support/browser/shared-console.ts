/** The browser and the apps that all browser tests of a worker share, because each takes seconds to start. */
import type { Browser } from "playwright-core";
import { ACCOUNT_ENV } from "../accounts/mails.ts";
import { startTestApp } from "../app/app.fixture.ts";
import { keepForWorker, type SharedApp } from "../app/shared-app.ts";
import { createTestMongo } from "../database/test-mongo.ts";
import { buildSite, withAdvisoryLock } from "../site.ts";
import { startTestSmtpServer, type TestSmtpServer } from "../smtp-server.ts";
import { launchChromium } from "./chromium.ts";
import { fillConsole, type ConsoleFixture } from "./console.fixture.ts";

export interface WorkingConsole {
  readonly app: SharedApp;
  readonly mails: TestSmtpServer;
}

let browser: Promise<Browser> | undefined;

/** Chromium ends with the worker, also a killed one, because their pipe closes. After a crash, the next call starts another. */
export async function sharedBrowser(): Promise<Browser> {
  browser ??= withAdvisoryLock(launchChromium).then((started) =>
    started.on("disconnected", () => (browser = undefined)),
  );
  return await browser;
}

/**
 * Builds the site if its sources have changed, and returns an app whose mails are queued and not sent. A test creates its own
 * organisations and users. A test that changes settings or the clock starts an instance with `startAppInstance`.
 */
export async function startConsole(): Promise<SharedApp> {
  await prepareBrowser();
  const env = { ...ACCOUNT_ENV, LOG_LEVEL: "silent", WEBHOOK_ALLOW_PRIVATE: "on" };
  return await keepForWorker("console", () => startTestApp(env));
}

/** Returns data for every page of the app of `startConsole`. Tests do not change it. */
export async function startConsoleFixture(): Promise<ConsoleFixture> {
  return await keepForWorker("console fixture", () => startConsole().then(fillConsole));
}

/** Like `startConsole`, but with a worker, which sends webhooks and mails and runs tasks. */
export async function startWorkingConsole(): Promise<WorkingConsole> {
  await prepareBrowser();
  return await keepForWorker("working console", startWorkingApp);
}

/** Builds the site if its sources have changed, and starts the browser. */
export async function prepareBrowser(): Promise<void> {
  await buildSite();
  await sharedBrowser();
}

async function startWorkingApp(): Promise<WorkingConsole & AsyncDisposable> {
  const mails = await startTestSmtpServer();
  const MONGODB_URL = createTestMongo().url;
  const SMTP_URL = `smtp://127.0.0.1:${mails.port}`;
  const app = await startTestApp({ MONGODB_URL, SMTP_URL, WEBHOOK_ALLOW_PRIVATE: "on" });
  return {
    app,
    mails,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await mails[Symbol.asyncDispose]();
    },
  };
}
