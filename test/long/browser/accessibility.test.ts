/** Checks every page of the console in all its states with axe, on a phone, a tablet and a desktop, in light and dark. */
import type { Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { addDays, today } from "../../../src/console/pages/jobs/job.due.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createTestUser } from "../../support/accounts/session-client.ts";
import type { TestOrganization } from "../../support/app/app.fixture.ts";
import { emulateScheme, findPageProblems } from "../../support/browser/axe.ts";
import { createAgent } from "../../support/browser/console.fixture.ts";
import { openAs, visits } from "../../support/browser/console-pages.ts";
import { startConsoleFixture, startWorkingConsole } from "../../support/browser/shared-console.ts";
import { DESKTOP, openTab, PHONE, TABLET, type Tab } from "../../support/browser/tabs.ts";
import { BAND, createTwoModes, switchTo } from "../../support/browser/test-mode.ts";
import { UNREACHABLE_URL } from "../../support/webhooks/endpoint.fixture.ts";

/** The console of the fixture has no MongoDB: its page of tasks says so, and the browser logs the response. */
const NO_MONGODB = /503 .*\/operator\/agenda\/tasks\)$/;

const fixture = await startConsoleFixture();

async function findProblems({ page, pageErrors }: Tab, viewports = [DESKTOP, TABLET, PHONE]) {
  const problems: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await emulateScheme(page, colorScheme);
    for (const viewport of viewports) {
      await page.setViewportSize(viewport);
      const found = await findPageProblems(page, { colorsAlone: colorScheme === "dark" });
      problems.push(...found.map((problem) => `${colorScheme}, ${viewport.width} px: ${problem}`));
    }
  }
  return [...problems, ...pageErrors.filter((error) => !NO_MONGODB.test(error))];
}

describe("has no axe violations, horizontal scroll or page errors, in light and dark at 360, 768 and 1280 px", () => {
  it.each(visits)("$path ($heading), as $visitor", async ({ visitor, heading, urlOf }) => {
    const tab = await openAs(visitor, fixture);
    await tab.page.goto(urlOf(fixture));
    await tab.page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    expect(await findProblems(tab)).toEqual([]);
  });

  it.each(Object.entries(agentStates()))("%s, as an agent", async (_state, open) => {
    const tab = await openLateJobs();
    await open(tab.page, tab.numbers, tab.agent);
    expect(await findProblems(tab)).toEqual([]);
  });

  it("a job next to the list", async () => {
    const tab = await openLateJobs();
    await tab.page.goto(`/jobs?job=${tab.numbers[0]}`);
    await tab.page.getByRole("heading", { level: 2, name: tab.numbers[0]! }).waitFor();
    expect(await findProblems(tab, [DESKTOP, { width: 1920, height: 1080 }])).toEqual([]);
  });

  it.each(Object.entries(operatorStates()))("%s, as an operator", async (_state, open) => {
    const tab = await openAs("operator", fixture);
    await open(tab.page);
    expect(await findProblems(tab)).toEqual([]);
  });

  it("tasks with their runs, as an operator", async () => {
    const { app } = await startWorkingConsole();
    const user = await createTestUser(app, { organizationId: null, role: "operator" });
    const tab = await openTab(app, { user });
    await tab.page.goto("/operator/tasks");
    await tab.page.getByRole("table", { name: "Tasks" }).waitFor();
    expect(await findProblems(tab)).toEqual([]);
  });

  it("the pages and the menu of test mode", async () => {
    const { owner, liveNumber } = await createTwoModes(fixture.app);
    const tab = await openTab(fixture.app, { user: owner });
    const { page } = tab;
    await page.goto("/");
    await switchTo(page, "Test");
    await page.getByText(BAND).waitFor();
    for (const [path, heading] of [
      ["/", "Dashboard"],
      ["/jobs", "Jobs"],
      [`/jobs/${liveNumber}`, "Job not found"],
      ["/integrations/keys", "API keys"],
      ["/integrations/endpoints", "Webhook endpoints"],
      ["/integrations/deliveries", "Deliveries"],
      ["/members", "This page belongs to live mode"],
    ] as const) {
      await page.goto(path);
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
      expect([path, await findProblems(tab)]).toEqual([path, []]);
    }
    // The page has the width of a phone.
    await button(page, "Menu").click();
    await page.getByRole("dialog", { name: "Menu" }).waitFor();
    expect(await findProblems(tab, [PHONE])).toEqual([]);
  });
});

it("the selected mode is readable: axe does not see the indicator behind its text", async () => {
  const { page } = await openTab(fixture.app, { user: fixture.owner });
  await page.goto("/");
  const label = page
    .locator("label")
    .filter({ hasText: /^Live$/ })
    .first();
  /** From 0 (black) to 1 (white). */
  const luminance = async (): Promise<number> => {
    const color = await label.evaluate((element) => getComputedStyle(element).color);
    const channels = color.match(/\d+/g)?.slice(0, 3).map(Number) ?? [];
    return channels.reduce((sum, each) => sum + each, 0) / (3 * 255);
  };
  await expect.poll(luminance).toBeLessThan(0.2);
  await emulateScheme(page, "dark");
  await expect.poll(luminance).toBeGreaterThan(0.8);
});

/** The owner of an agent that may import, with 30 late jobs, which fill a page, and jobs of today. */
async function openLateJobs(): Promise<Tab & { numbers: string[]; agent: TestOrganization }> {
  const { app } = fixture;
  const { agent, user } = await createAgent(app);
  await app.database.query(sql`update organization set can_import_jobs = true where id = ${agent.id}::uuid`);
  const contractor = await app.createOrganization("contractor");
  const dueToday = { patch: { scheduled_date: today() } };
  await app.createJobs(agent, [dueToday, { ...dueToday, contractor }]);
  const late = { patch: { scheduled_date: addDays(today(), -1), instructions: "Ring twice" } };
  const numbers = await app.createJobs(
    agent,
    Array.from({ length: 30 }, () => late),
  );
  return { ...(await openTab(app, { user })), numbers, agent };
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });

type AgentState = (page: Page, numbers: string[], agent: TestOrganization) => Promise<void>;

function agentStates(): Record<string, AgentState> {
  return {
    "the board of today": async (page) => {
      await page.goto("/");
      await page
        .getByRole("table", { name: "Jobs of today by contractor" })
        .getByRole("row")
        .nth(2)
        .waitFor();
    },
    "the filters and all selected jobs": async (page) => {
      await selectLate(page);
      await button(page, "Filters").click();
      await page.getByRole("region", { name: "Filters" }).waitFor();
    },
    "the preview of a reschedule": async (page) => {
      await selectLate(page);
      await button(page, "Reschedule").click();
      await page.getByLabel("New date").fill(addDays(today(), 3));
      await button(page, "Preview").click();
      await page.getByText("30 no longer late").waitFor();
    },
    "the progress of a change": async (page) => {
      await hold(page, isChange);
      await changeInstructions(page);
      await page.getByText("Changing: 0 of 30 jobs").waitFor();
    },
    "the report of a change": async (page, [first = ""]) => {
      await page.route("**/graphql", async (route) => {
        if (isChange(route)) await changeOf(first);
        await route.fallback();
      });
      await changeInstructions(page);
      await page.getByText("29 jobs changed", { exact: true }).waitFor();
      await page.getByText("Someone else changed this job.").first().waitFor();
    },
    "the menu of exports": async (page) => {
      await page.goto("/jobs");
      await button(page, "Export").click();
      await page.getByRole("menuitem", { name: /^CSV/ }).waitFor();
    },
    "the progress of an export": async (page) => {
      await hold(page, (route) => operationOf(route).operationName === "JobExport");
      await page.goto("/jobs");
      await button(page, "Export").click();
      await page.getByRole("menuitem", { name: /^CSV/ }).click();
      await page.getByRole("dialog", { name: "Exporting jobs" }).waitFor();
    },
    "the first step of an import": async (page) => {
      await page.goto("/import");
      await page.getByRole("heading", { level: 1, name: "Import jobs" }).waitFor();
    },
    "the columns of an import": chooseImportFile,
    "the preview of an import": previewImport,
    "the result of an import": async (page) => {
      await previewImport(page);
      await button(page, "Import 1 row").click();
      await page.getByRole("heading", { name: "Import finished" }).waitFor();
    },
    "the palette": async (page, [number = ""]) => {
      await page.goto("/jobs");
      await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
      await page.keyboard.press("ControlOrMeta+k");
      const palette = page.getByRole("dialog", { name: "Search and actions" });
      await palette.getByRole("combobox").fill(number);
      await palette.getByRole("option", { name: new RegExp(`^${number}`) }).waitFor();
    },
    "the list of keys": async (page) => {
      await page.goto("/jobs");
      await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    },
    "selected deliveries, and the question before their replay": async (page, _numbers, agent) => {
      await createFailedDelivery(agent);
      await page.goto("/integrations/deliveries");
      await page.getByRole("checkbox", { name: "Select all on this page" }).check();
      await page
        .getByRole("region", { name: "Selected deliveries" })
        .getByRole("button", { name: "Replay" })
        .click();
      await page.getByRole("dialog").getByRole("button", { name: "Replay" }).waitFor();
    },
    "the menu of a view": async (page) => {
      await page.goto("/jobs?status=pending");
      await button(page, "Save as…").click();
      await page.getByLabel("Name").fill("Morning round");
      await button(page, "Save view").click();
      await button(page, "Actions for view Morning round").click();
      await page.getByRole("menuitem", { name: /^Share with/ }).waitFor();
    },
    "a job that is edited": async (page, [number = ""]) => {
      await page.goto(`/jobs/${number}`);
      await button(page, "Edit").click();
      await page.getByRole("dialog").getByLabel("Instructions").waitFor();
    },
  };
}

async function askToViewAsPartner(page: Page): Promise<void> {
  await page.goto(`/operator/organizations/${fixture.ids.organization}`);
  await button(page, "View as partner…").click();
  await page.getByRole("dialog").getByRole("button", { name: "View as partner" }).waitFor();
}

function operatorStates(): Record<string, (page: Page) => Promise<void>> {
  return {
    "the question before viewing as a partner": askToViewAsPartner,
    "the console viewed as a partner": async (page) => {
      await askToViewAsPartner(page);
      await page.getByRole("dialog").getByRole("button", { name: "View as partner" }).click();
      await page.getByText(/^You see what viewers of .* see/).waitFor();
    },
    "the columns of an import": chooseImportFile,
  };
}

async function selectLate(page: Page): Promise<void> {
  await page.goto("/jobs?late=true");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await button(page, "Select all 30 that match").click();
  await page.getByRole("region", { name: "Selected jobs" }).getByText("30 jobs selected").waitFor();
}

async function changeInstructions(page: Page): Promise<void> {
  await selectLate(page);
  await button(page, "Edit").click();
  await page.getByRole("combobox", { name: "Field to change" }).fill("Instructions");
  await page.getByRole("option", { name: "Instructions" }).click();
  await page.getByLabel("Instructions", { exact: true }).fill("Leave at the reception");
  await button(page, "Preview").click();
  await button(page, "Change 30 jobs").click();
}

async function chooseImportFile(page: Page): Promise<void> {
  await page.goto("/import");
  const rows = [
    "Tracking;Recipient;Pieces;Date;Colour",
    `N-${Date.now()};Noor;2;31/12/2026;red`,
    ";Zoë;two;;",
  ];
  const file = { name: "jobs.csv", mimeType: "text/csv", buffer: Buffer.from(rows.join("\n"), "latin1") };
  await page.getByLabel("File to import").setInputFiles(file);
  await page.getByText("Columns of jobs.csv").waitFor();
}

async function previewImport(page: Page): Promise<void> {
  await chooseImportFile(page);
  await button(page, "Preview").click();
  await page.getByRole("table", { name: "Kinds of errors" }).waitFor();
}

async function createFailedDelivery(agent: TestOrganization): Promise<void> {
  const { app } = fixture;
  const body = JSON.stringify({ url: UNREACHABLE_URL });
  await app.call("/v1/webhook-endpoints", { key: agent.key, method: "POST", body });
  await app.createJobs(agent, [{}]);
  await app.database.query(sql`
    update webhook_delivery set status = 'failed', outcome = 'http_503', attempts = 10, finished_at = now()
    from webhook_endpoint endpoint where endpoint.id = endpoint_id and endpoint.organization_id = ${agent.id}::uuid`);
}

function operationOf(route: Route) {
  return route.request().postDataJSON() as { operationName?: string; variables?: { dryRun?: boolean } };
}

const isChange = (route: Route): boolean =>
  operationOf(route).operationName === "UpdateJobs" && operationOf(route).variables?.dryRun === false;

/** Such requests get no response. */
async function hold(page: Page, isHeld: (route: Route) => boolean): Promise<void> {
  await page.route("**/graphql", async (route) => {
    if (!isHeld(route)) await route.fallback();
  });
}

/** Changes the job as someone else, so that a change after a preview refuses it. */
async function changeOf(markingNumber: string): Promise<void> {
  await fixture.app.database.query(
    sql`update job set version = version + 1 where marking_number = ${markingNumber}`,
  );
}
