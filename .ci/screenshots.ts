/** `npm run screenshots`: the pictures of `docs/guide/console.md`, taken of the demo. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { buildWhenStale } from "../src/console/build.ts";
import { launchChromium } from "../test/support/chromium.ts";
import { liven, startDemo, startReceiver, type Demo, type Login } from "./screenshots.demo.ts";

const TARGET = fileURLToPath(new URL("../docs/guide/screenshots", import.meta.url));
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 800 };

interface Shot {
  /** The file's name. */
  name: string;
  /** Where it is: an address, or what leads there from the page before. */
  at: string | ((page: Page) => Promise<void>);
}

const nobody: readonly Shot[] = [
  { name: "request-account", at: "/request-account" },
  { name: "sign-in", at: "/sign-in" },
];

const partner = (endpointId: string): readonly Shot[] => [
  { name: "dashboard", at: "/" },
  { name: "jobs", at: "/jobs?category=ATTENTION" },
  { name: "job", at: (page) => follow(page, page.getByRole("row").nth(1).getByRole("link").first()) },
  { name: "job-edit", at: (page) => page.getByRole("button", { name: "Edit" }).click() },
  { name: "keys", at: "/integrations/keys" },
  { name: "key-new", at: createKey },
  { name: "endpoints", at: "/integrations/endpoints" },
  {
    name: "endpoint",
    at: async (page) => {
      await page.goto(`/integrations/endpoints/${endpointId}`);
      await page.getByRole("button", { name: "Send test event" }).click();
      await page.getByRole("region", { name: "Test event" }).getByText("Answered 200").waitFor();
    },
  },
  { name: "deliveries", at: "/integrations/deliveries" },
  { name: "delivery", at: (page) => follow(page, page.getByRole("row").nth(1).getByRole("link").first()) },
  { name: "requests", at: "/integrations/requests" },
  { name: "usage", at: "/integrations/usage" },
  { name: "members", at: "/members" },
  { name: "member-invite", at: (page) => page.getByRole("button", { name: "Invite" }).click() },
  { name: "security", at: "/security" },
];

const operator: readonly Shot[] = [
  { name: "operator-requests", at: "/operator/requests" },
  {
    name: "operator-request",
    at: (page) => follow(page, page.getByRole("link", { name: "Mill Lane Couriers" })),
  },
  { name: "operator-approve", at: (page) => page.getByRole("button", { name: "Approve…" }).click() },
  { name: "operator-mail", at: approveAndOpenMail },
  { name: "register", at: followLink },
];

const operatorLater: readonly Shot[] = [
  { name: "operator-organizations", at: "/operator/organizations" },
  {
    name: "operator-organization",
    at: (page) => follow(page, page.getByRole("link", { name: "Mill Lane Couriers" })),
  },
  { name: "operator-import", at: "/operator/import" },
  { name: "operator-statuses", at: "/operator/statuses" },
  { name: "operator-endpoints", at: "/operator/endpoints" },
  { name: "operator-audit", at: "/operator/audit" },
  { name: "operator-tasks", at: "/operator/tasks" },
];

/** A link of the list, to what it leads to. */
async function follow(page: Page, link: Locator): Promise<void> {
  const heading = page.getByRole("heading", { level: 1 });
  const former = await heading.innerText();
  await link.click();
  await heading.filter({ hasNotText: former }).waitFor();
}

async function createKey(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Create API key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Route planner");
  await dialog.getByRole("button", { name: "Create API key" }).click();
  await dialog.getByText(/^wmk_/).waitFor();
  // Nobody shall learn from a guide that keys are something to publish.
  await page.evaluate(`for (const code of document.querySelectorAll("[role=dialog] code"))
    code.textContent = code.textContent.replace(/wmk_\\w{8}_[\\w-]+/g, "wmk_" + "•".repeat(57))`);
}

/** The mail lies in the outbox, where there is no mail server. */
async function approveAndOpenMail(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Approve and send" }).click();
  await page.getByRole("button", { name: "Resend registration…" }).waitFor();
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
    for (const { name, at } of shots) {
      await (typeof at === "string" ? this.#page.goto(at) : at(this.#page));
      await settled(this.#page);
      await this.#page.screenshot({
        path: join(TARGET, `${name}${suffix}.png`),
        animations: "disabled",
        caret: "hide",
      });
      console.log(`${name}${suffix}`);
    }
  }
}

/** The page stands, with everything that was on its way. */
async function settled(page: Page): Promise<void> {
  await page.getByRole("heading").first().waitFor();
  await page.waitForLoadState("networkidle");
  // A condition that Playwright polls would be evaluated by the page, whose policy forbids that.
  await page.evaluate(`(async () => {
    const isBusy = () => document.querySelector("[aria-busy=true]") || document.getAnimations().length > 0;
    while (isBusy()) await new Promise(requestAnimationFrame);
  })()`);
}

type Look = { colorScheme?: "light" | "dark"; viewport?: { width: number; height: number } };

async function visit(browser: Browser, { url }: Demo, look: Look = {}): Promise<BrowserContext> {
  const settings = { baseURL: url, locale: "en-GB", timezoneId: "UTC", reducedMotion: "reduce" } as const;
  return await browser.newContext({ ...settings, colorScheme: "light", viewport: DESKTOP, ...look });
}

async function signedIn(context: BrowserContext, { email, password }: Login): Promise<Page> {
  const page = await context.newPage();
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
  return page;
}

async function takeAll(browser: Browser, demo: Demo, endpointId: string): Promise<void> {
  const { agent, operator: runner } = demo.logins;
  await new Camera(await (await visit(browser, demo)).newPage()).take(nobody);
  const ours = partner(endpointId);
  await new Camera(await signedIn(await visit(browser, demo), agent)).take(ours);
  const some = (...names: string[]): Shot[] => ours.filter(({ name }) => names.includes(name));
  const dark = await visit(browser, demo, { colorScheme: "dark" });
  await new Camera(await signedIn(dark, agent)).take(some("dashboard"), "-dark");
  const phone = await visit(browser, demo, { viewport: PHONE });
  await new Camera(await signedIn(phone, agent)).take(some("dashboard", "jobs"), "-phone");
  const atWork = new Camera(await signedIn(await visit(browser, demo), runner));
  await atWork.take(operator);
  await atWork.take(operatorLater);
}

async function main(): Promise<void> {
  await buildWhenStale();
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "waymark-screenshots-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const receiver = opened.use(await startReceiver());
  const demo = opened.use(await startDemo(folder));
  const endpointId = await liven(demo, receiver.url);
  const browser = opened.adopt(await launchChromium(), (one) => one.close());
  await rm(TARGET, { recursive: true, force: true });
  await mkdir(TARGET, { recursive: true });
  await takeAll(browser, demo, endpointId);
}

await main();
