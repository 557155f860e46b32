/** The palette, and the keys of lists. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { createTestUser } from "../support/accounts/session-client.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, PHONE, visit } from "../support/browser/tabs.ts";

const app = await startConsole();
const { agent, user: owner } = await createAgent(app);
const viewer = await createTestUser(app, { organizationId: agent.id, role: "viewer" });

const palette = (page: Page) => page.getByRole("dialog", { name: "Search and actions" });
const field = (page: Page) => palette(page).getByRole("combobox");
const option = (page: Page, name: string | RegExp) => palette(page).getByRole("option", { name });
const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });

/** Waits for the selected result, then opens it. */
async function choose(page: Page, text: string, result: string | RegExp): Promise<void> {
  await page.keyboard.press("Control+k");
  await field(page).fill(text);
  await expectVisible(palette(page).getByRole("option", { name: result, selected: true }));
  await page.keyboard.press("Enter");
}

it("goes to a job by its number, id or name, to a page, and to the dialog of an action", async () => {
  const name = `Priya ${Date.now()}`;
  const jobs = [{ patch: { recipient_name: name } }, {}];
  const [number = "", second = ""] = await app.createJobs(agent, jobs);
  const { page } = await visit(app, "/", { user: owner });
  await expectVisible(heading(page, "Dashboard"));
  await choose(page, number, new RegExp(`^${number}`));
  await expectVisible(heading(page, number));
  // Without waiting for the result.
  await page.keyboard.press("Control+k");
  await field(page).fill(second);
  await page.keyboard.press("Enter");
  await expectVisible(heading(page, second));

  await choose(page, "deliv", "Deliveries Integrations");
  await expectVisible(heading(page, "Deliveries"));
  await page.keyboard.press("Control+k");
  await expectVisible(option(page, number));
  await expectVisible(option(page, second));
  expect(await findPageProblems(page)).toEqual([]);
  await field(page).fill(name.toLowerCase());
  await expectVisible(option(page, new RegExp(number)));
  await expectVisible(palette(page).getByRole("option", { name: /^Search jobs for/, selected: true }));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expectVisible(heading(page, number));

  await choose(page, name, /^Search jobs for/);
  await expectVisible(page.getByText("1 job in total"));
  await choose(page, "create end", "Create endpoint");
  await expectVisible(page.getByRole("dialog", { name: "Create endpoint" }));
  await page.keyboard.press("Control+k");
  expect(await palette(page).count()).toBe(0);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
});

it("offers only what the role may open and do, and sends no secret", async () => {
  await app.createJobs(agent, [{}]);
  const { page } = await visit(app, "/", { user: viewer, viewport: PHONE });
  const sent: string[] = [];
  page.on("request", (request) => void sent.push(request.postData() ?? ""));
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await expectVisible(option(page, "Sign out"));
  const offered = await palette(page).getByRole("option").allInnerTexts();
  expect(offered.map((text) => text.split("\n")[0])).toEqual([
    "Dashboard",
    "Jobs",
    "Members",
    "Security",
    "Notifications",
    "Switch to test mode",
    "Colour scheme: Light",
    "Colour scheme: System",
    "Colour scheme: Dark",
    "Keyboard shortcuts",
    "Guide: The dashboard",
    "Sign out",
  ]);
  expect(await findPageProblems(page)).toEqual([]);
  for (const hidden of [
    toTypedId("whe", agent.id),
    toTypedId("org", agent.id),
    "whsec_c2VjcmV0",
    "Wmk_secret",
  ]) {
    await field(page).fill(hidden);
    await palette(page).getByRole("option").first().waitFor({ state: "detached" });
  }
  await field(page).fill("jobs");
  await expectVisible(option(page, /^Search jobs for/));
  await expect.poll(() => sent.some((body) => body.includes(`"text":"jobs"`))).toBe(true);
  expect(sent.filter((body) => /secret|whe_|org_0/i.test(body))).toEqual([]);
});

it("shows no answer to an older text", async () => {
  const [first = "", second = ""] = await app.createJobs(agent, [{}, {}]);
  const { page } = await visit(app, "/", { user: viewer });
  await expectVisible(heading(page, "Dashboard"));
  const old = Promise.withResolvers<void>();
  const answered: string[] = [];
  await page.route("**/graphql", async (route) => {
    const body = route.request().postData() ?? "";
    const isOld = body.includes(`"text":"${first}"`);
    if (isOld) await old.promise;
    // Apollo may have aborted it.
    await route.continue().catch(() => undefined);
    if (isOld) answered.push(first);
  });
  await page.keyboard.press("Control+k");
  await Promise.all([
    page.waitForRequest((request) => request.postData()?.includes(`"text":"${first}"`) === true),
    field(page).fill(first),
  ]);
  await field(page).fill(second);
  await expectVisible(option(page, new RegExp(`^${second}`)));
  old.resolve();
  await expect.poll(() => answered).toEqual([first]);
  await expectVisible(option(page, new RegExp(`^${second}`)));
  expect(await option(page, new RegExp(`^${first}`)).count()).toBe(0);
});

it("moves, selects, opens and searches in a list by keys, but not while the user types", async () => {
  const created = await createAgent(app, { role: "dispatcher", jobs: [{}, {}, {}] });
  const numbers = created.numbers.toSorted();
  // Too narrow for a job next to the list.
  const viewport = { width: 1100, height: 800 };
  const { page } = await visit(app, "/jobs?sort=marking_number", { user: created.user, viewport });
  const focused = async () => await page.evaluate(() => document.activeElement?.textContent);
  await expectVisible(page.getByText("3 jobs in total"));
  const bar = page.getByRole("region", { name: "Selected jobs" });

  for (const key of ["j", "j", "j", "j", "k"]) await page.keyboard.press(key);
  await expect.poll(focused).toBe(numbers[1]);
  await page.keyboard.press("x");
  await expectVisible(bar.getByText("1 job selected"));
  await expectVisible(page.getByRole("checkbox", { name: `Select ${numbers[1]!}`, checked: true }));

  await page.keyboard.press("/");
  await page.keyboard.type("xjk?/");
  const search = page.getByRole("searchbox", { name: "Search jobs" });
  await expect.poll(() => search.inputValue()).toBe("xjk?/");
  await expectVisible(page.getByText("No matching jobs"));
  await search.fill("");
  await expectVisible(page.getByText("3 jobs in total"));
  await page.getByRole("heading", { level: 1 }).focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expectVisible(heading(page, numbers[0]!));
});

it("shows the keys, and turns single keys off for this browser", async () => {
  const { page } = await visit(app, "/jobs", { user: viewer });
  await expectVisible(heading(page, "Jobs"));
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expectVisible(dialog.getByText("Select the row"));
  expect(await findPageProblems(page)).toEqual([]);
  await dialog.getByRole("switch", { name: "Single keys" }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });

  await page.reload();
  await expectVisible(heading(page, "Jobs"));
  for (const key of ["/", "?"]) await page.keyboard.press(key);
  await page.keyboard.press("Control+k");
  await expectVisible(option(page, "Keyboard shortcuts"));
  expect(await dialog.count()).toBe(0);
  await option(page, "Keyboard shortcuts").click();
  await expectVisible(dialog);
  await expect.poll(() => dialog.getByRole("switch", { name: "Single keys" }).isChecked()).toBe(false);
});
