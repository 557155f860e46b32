/** `npx node scripts/take-screenshots.ts`: takes the screenshots of the pages on the console from the demo. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { buildIfStale } from "../src/build.ts";
import { launchChromium } from "../test/support/browser/chromium.ts";
import { populateDemo, startDemo, startDemoReceiver, type Demo, type Login } from "./screenshots.demo.ts";

const OUTPUT_FOLDER = fileURLToPath(new URL("../docs/guide/screenshots", import.meta.url));
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 800 };

interface Shot {
  /** File name without extension. */
  name: string;
  /** Path to open, or actions that lead there from the previous page. */
  target: string | ((page: Page) => Promise<void>);
}

const signedOutShots: readonly Shot[] = [
  { name: "request-account", target: "/request-account" },
  { name: "sign-in", target: "/sign-in" },
];

const organizationShots = (endpointId: string): readonly Shot[] => [
  { name: "dashboard", target: "/" },
  { name: "jobs", target: "/jobs?category=ATTENTION" },
  {
    name: "job",
    target: async (page) => {
      await page.getByRole("row").nth(1).getByRole("link").first().click();
      await follow(page, page.getByRole("link", { name: "Open full page" }));
    },
  },
  { name: "job-edit", target: (page) => page.getByRole("button", { name: "Edit" }).click() },
  { name: "keys", target: "/integrations/keys" },
  { name: "key-new", target: createKey },
  { name: "endpoints", target: "/integrations/endpoints" },
  {
    name: "endpoint",
    target: async (page) => {
      await page.goto(`/integrations/endpoints/${endpointId}`);
      await page.getByRole("button", { name: "Send test event" }).click();
      await page.getByRole("region", { name: "Test event" }).getByText("HTTP 200").waitFor();
    },
  },
  { name: "deliveries", target: "/integrations/deliveries" },
  {
    name: "delivery",
    target: (page) => follow(page, page.getByRole("row").nth(1).getByRole("link").first()),
  },
  { name: "requests", target: "/integrations/requests" },
  { name: "usage", target: "/integrations/usage" },
  { name: "members", target: "/members" },
  { name: "member-invite", target: (page) => page.getByRole("button", { name: "Invite" }).click() },
  { name: "security", target: "/security" },
];

/** The first one creates the jobs of the others. */
const testModeShots: readonly Shot[] = [
  { name: "simulator", target: runTestJob },
  { name: "test-dashboard", target: "/" },
  { name: "test-requests", target: "/integrations/requests" },
];

const operatorShots: readonly Shot[] = [
  { name: "operator-requests", target: "/operator/requests" },
  {
    name: "operator-request",
    target: (page) => follow(page, page.getByRole("link", { name: "Mill Lane Couriers" })),
  },
  { name: "operator-approve", target: (page) => page.getByRole("button", { name: "Approve…" }).click() },
  { name: "operator-mail", target: approveAndOpenMail },
  { name: "register", target: followLink },
];

const operatorShotsAfterApproval: readonly Shot[] = [
  { name: "operator-organizations", target: "/operator/organizations" },
  {
    name: "operator-organization",
    target: (page) => follow(page, page.getByRole("row").getByRole("link", { name: "Northwind Agency" })),
  },
  { name: "operator-import", target: "/import" },
  { name: "operator-statuses", target: "/operator/statuses" },
  { name: "operator-endpoints", target: "/operator/endpoints" },
  { name: "operator-audit", target: "/operator/audit" },
  { name: "operator-tasks", target: "/operator/tasks" },
];

/** Clicks the link and waits until the page heading changes. */
async function follow(page: Page, link: Locator): Promise<void> {
  const heading = page.getByRole("heading", { level: 1 });
  const previous = await heading.innerText();
  await link.click();
  await heading.filter({ hasNotText: previous }).waitFor();
}

async function createKey(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Create API key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Route planner");
  await dialog.getByRole("button", { name: "Create API key" }).click();
  await dialog.getByText(/^wmk_/).waitFor();
  // A guide must not show a key, not even a fake one, because readers imitate it.
  await page.evaluate(`for (const code of document.querySelectorAll("[role=dialog] code"))
    code.textContent = code.textContent.replace(/wmk_\\w{8}_[\\w-]+/g, "wmk_" + "•".repeat(57))`);
}

async function runTestJob(page: Page): Promise<void> {
  await page.goto("/simulator");
  await page.getByRole("button", { name: "Switch to test mode" }).click();
  const jobs = page.getByRole("region", { name: "Test jobs" });
  const links = jobs.getByRole("link", { name: /^TEST-/ });
  await page.getByLabel("Recipient").fill("Harbour Street Bakery");
  await page.getByRole("button", { name: "Create jobs" }).click();
  await links.first().waitFor();
  const run = page.getByRole("region", { name: "Run a job" });
  await run.getByRole("button", { name: "Start run" }).click();
  await run.getByText("Run finished").waitFor();
  await page.evaluate("window.scrollTo(0, 0)");
}

/** Opens the mail in the outbox, because the demo has no mail server. */
async function approveAndOpenMail(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Approve and send" }).click();
  await page.getByRole("button", { name: "Resend registration link…" }).waitFor();
  await page.goto("/operator/mail");
  await page.getByRole("cell").getByRole("button").first().click();
}

async function followLink(page: Page): Promise<void> {
  const link = page.getByRole("dialog").getByRole("link").first();
  await page.goto((await link.getAttribute("href")) ?? "/register");
}

class Camera {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async take(shots: readonly Shot[], suffix = ""): Promise<void> {
    for (const { name, target } of shots) {
      await (typeof target === "string" ? this.#page.goto(target) : target(this.#page));
      await waitUntilSettled(this.#page);
      await this.#page.screenshot({
        path: join(OUTPUT_FOLDER, `${name}${suffix}.png`),
        animations: "disabled",
        caret: "hide",
      });
      console.log(`${name}${suffix}`);
    }
  }
}

/** Waits until the page has loaded and all animations have ended. */
async function waitUntilSettled(page: Page): Promise<void> {
  await page.getByRole("heading").first().waitFor();
  await page.waitForLoadState("networkidle");
  // Playwright's polling would use eval in the page, which the Content-Security-Policy forbids.
  await page.evaluate(`(async () => {
    const isBusy = () => document.querySelector("[aria-busy=true]") || document.getAnimations().length > 0;
    while (isBusy()) await new Promise(requestAnimationFrame);
  })()`);
}

type Appearance = { colorScheme?: "light" | "dark"; viewport?: { width: number; height: number } };

async function openContext(
  browser: Browser,
  { url }: Demo,
  appearance: Appearance = {},
): Promise<BrowserContext> {
  const settings = { baseURL: url, locale: "en-GB", timezoneId: "UTC", reducedMotion: "reduce" } as const;
  return await browser.newContext({ ...settings, colorScheme: "light", viewport: DESKTOP, ...appearance });
}

async function signIn(context: BrowserContext, { email, password }: Login): Promise<Page> {
  const page = await context.newPage();
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
  return page;
}

async function takeAllShots(browser: Browser, demo: Demo, endpointId: string): Promise<void> {
  const { agent, operator: operatorLogin } = demo.logins;
  await new Camera(await (await openContext(browser, demo)).newPage()).take(signedOutShots);
  const agentShots = organizationShots(endpointId);
  await new Camera(await signIn(await openContext(browser, demo), agent)).take(agentShots);
  const selectShots = (...names: string[]): Shot[] => agentShots.filter(({ name }) => names.includes(name));
  const dark = await signIn(await openContext(browser, demo, { colorScheme: "dark" }), agent);
  await new Camera(dark).take(selectShots("dashboard"), "-dark");
  const phone = await signIn(await openContext(browser, demo, { viewport: PHONE }), agent);
  await new Camera(phone).take(selectShots("dashboard", "jobs"), "-phone");
  const desktop = await signIn(await openContext(browser, demo), agent);
  await new Camera(desktop).take(testModeShots);
  await new Camera(dark).take(testModeShots.slice(0, 1), "-dark");
  await new Camera(phone).take(testModeShots.slice(0, 1), "-phone");
  const operatorCamera = new Camera(await signIn(await openContext(browser, demo), operatorLogin));
  await operatorCamera.take(operatorShots);
  await operatorCamera.take(operatorShotsAfterApproval);
}

async function main(): Promise<void> {
  await buildIfStale();
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "waymark-screenshots-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const receiver = opened.use(await startDemoReceiver());
  const demo = opened.use(await startDemo(folder));
  const endpointId = await populateDemo(demo, receiver.url);
  const browser = opened.adopt(await launchChromium(), (one) => one.close());
  await rm(OUTPUT_FOLDER, { recursive: true, force: true });
  await mkdir(OUTPUT_FOLDER, { recursive: true });
  await takeAllShots(browser, demo, endpointId);
}

await main();
