/** `npx node scripts/take-screenshots.ts`: takes the screenshots of the pages on the console from the demo. */
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
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
  /** Shows only the dialog, because little of the page is beside it. */
  isDrawer?: true;
}

const signedOutShots: readonly Shot[] = [
  { name: "request-account", target: "/request-account" },
  { name: "sign-in", target: "/sign-in" },
];

const organizationShots = (endpointId: string): readonly Shot[] => [
  { name: "dashboard", target: "/" },
  { name: "jobs", target: openAttention },
  {
    name: "job",
    target: async (page) => {
      await page.getByRole("row").nth(1).getByRole("link").first().click();
      await follow(page, page.getByRole("link", { name: "Open full page" }));
    },
  },
  {
    name: "job-edit",
    target: (page) => page.getByRole("button", { name: "Edit" }).click(),
    isDrawer: true,
  },
  { name: "reschedule", target: previewReschedule, isDrawer: true },
  { name: "export", target: openExportMenu },
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
  { name: "security", target: "/security" },
];

/** Changes jobs, so that the dashboard would show these changes. */
const bulkEditShots: readonly Shot[] = [{ name: "bulk-edit", target: changeLateJobs, isDrawer: true }];

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
  { name: "operator-import", target: chooseImportFile },
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

/** The tabs of saved views come later than the jobs. */
async function openAttention(page: Page): Promise<void> {
  await page.goto("/jobs?category=ATTENTION");
  await page.getByRole("link", { name: "All jobs" }).waitFor();
}

async function openLateJobs(page: Page): Promise<void> {
  await page.goto("/jobs?late=true");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
}

async function previewReschedule(page: Page): Promise<void> {
  await openLateJobs(page);
  await page.getByRole("button", { name: "Reschedule" }).click();
  const inTwoDays = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  await page.getByLabel("New date").fill(inTwoDays);
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText(/no longer late/).waitFor();
}

async function openExportMenu(page: Page): Promise<void> {
  await page.goto("/jobs?late=true");
  await page.getByText(/jobs in total/).waitFor();
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("menuitem", { name: "For re-import" }).waitFor();
}

async function changeLateJobs(page: Page): Promise<void> {
  await openLateJobs(page);
  await page.getByRole("button", { name: /^Select all .* that match$/ }).click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("combobox", { name: "Field to change" }).fill("Instructions");
  await page.getByRole("option", { name: "Instructions" }).click();
  await page.getByLabel("Instructions", { exact: true }).fill("Phone the recipient before you come");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: /^Change .* jobs$/ }).click();
  await page.getByText(/^[\d,]+ jobs changed$/).waitFor();
  await page.getByText(/^Changed: /).click();
}

const IMPORT_ROWS = [
  "Tracking;Recipient;Phone;Address;Pieces;Date",
  "HP-20611;Harbour Pharmacy;+44 20 7946 0123;5 Mill Lane;2;31/12/2026",
  "HP-20612;Zoë Lindqvist;+44 20 7946 0188;12 Quay Street;1;31/12/2026",
];

async function chooseImportFile(page: Page): Promise<void> {
  await page.goto("/import");
  const buffer = Buffer.from(IMPORT_ROWS.join("\r\n"));
  await page.getByLabel("File to import").setInputFiles({ name: "orders.csv", mimeType: "text/csv", buffer });
  await page.getByText("Columns of orders.csv").waitFor();
}

async function runTestJob(page: Page): Promise<void> {
  await page.goto("/simulator");
  await page.getByRole("button", { name: "Switch to test mode" }).click();
  await page.getByLabel("Recipient").fill("Harbour Street Bakery");
  await page.getByRole("button", { name: "Create jobs" }).click();
  // Until the new job is selected, a run would be that of an earlier job.
  await page.waitForURL(/[?&]job=TEST-/);
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
  readonly #folder: string;

  constructor(page: Page, folder: string) {
    this.#page = page;
    this.#folder = folder;
  }

  async take(shots: readonly Shot[], suffix = ""): Promise<void> {
    for (const { name, target, isDrawer } of shots) {
      await (typeof target === "string" ? this.#page.goto(target) : target(this.#page));
      await waitUntilSettled(this.#page);
      await (isDrawer ? this.#page.getByRole("dialog") : this.#page).screenshot({
        path: join(this.#folder, `${name}${suffix}.png`),
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

/** Saves the pictures in the folder. */
async function takeAllShots(browser: Browser, demo: Demo, endpointId: string, folder: string): Promise<void> {
  const { agent, operator } = demo.logins;
  const open = async (login: Login, appearance?: Appearance): Promise<Camera> =>
    new Camera(await signIn(await openContext(browser, demo, appearance), login), folder);
  await new Camera(await (await openContext(browser, demo)).newPage(), folder).take(signedOutShots);
  const agentShots = organizationShots(endpointId);
  const selectShots = (...names: string[]): Shot[] => agentShots.filter(({ name }) => names.includes(name));
  const desktop = await open(agent);
  await desktop.take(agentShots);
  const dark = await open(agent, { colorScheme: "dark" });
  await dark.take(selectShots("dashboard"), "-dark");
  const phone = await open(agent, { viewport: PHONE });
  await phone.take(selectShots("dashboard", "jobs"), "-phone");
  await desktop.take(bulkEditShots);
  await desktop.take(testModeShots);
  await dark.take(testModeShots.slice(0, 1), "-dark");
  await phone.take(testModeShots.slice(0, 1), "-phone");
  const operatorCamera = await open(operator);
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
  const pictures = join(folder, "pictures");
  await mkdir(pictures);
  await takeAllShots(browser, demo, endpointId, pictures);
  // The former pictures stay until all new ones are taken.
  await rm(OUTPUT_FOLDER, { recursive: true, force: true });
  await cp(pictures, OUTPUT_FOLDER, { recursive: true });
}

await main();
