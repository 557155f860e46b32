/** Operators, and agents whom they allow it, import files in the console. */
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { expectVisible, openTab, visit } from "../support/browser/tabs.ts";
import { workbook } from "../support/jobs/workbook.ts";

const app = await startConsole();
const operator = await createTestUser(app, { organizationId: null, role: "operator" });

const chooseFile = (page: Page, name: string, buffer: Buffer): Promise<void> =>
  page.getByLabel("File to import").setInputFiles({ name, mimeType: "application/octet-stream", buffer });

it("shows why a file cannot be read, and imports the rows of a workbook", async () => {
  const { name: agent } = await app.createOrganization("agent");
  const { page } = await visit(app, "/import", { user: operator }, /400 .*\/imports\/sample/);
  await chooseFile(page, "jobs.xlsx", Buffer.from("marking_number\n"));
  await page.getByText("not a workbook that Excel can open").waitFor();

  const row = [`${agent}-1`, agent, new Date("2026-12-31")];
  await chooseFile(
    page,
    "jobs.xlsx",
    workbook([["Tracking number", "agent", "scheduled_date"], row, [`${agent}-2`]]),
  );
  await page.getByText("Columns of jobs.xlsx").waitFor();
  await page.getByText("2026-12-31").first().waitFor();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Import 1 row" }).click();
  await expectVisible(page.getByText("Agent is missing: no job has this Marking Number"));
  await page.getByText(`${agent}-2`).waitFor();
});

it("lets a dispatcher of an agent import jobs of the agent once an operator has allowed it", async () => {
  const { id, name: agent } = await app.createOrganization("agent");
  const { page: operators } = await openTab(app, { user: operator });
  await operators.goto(`/operator/organizations/${toTypedId("org", id)}`);
  await operators.getByLabel("Owners and dispatchers can import files").click();
  await expectVisible(operators.getByText(`${agent} can import jobs.`));
  await expectVisible(operators.getByText("Allowed an organisation to import jobs"));
  expect(await findPageProblems(operators)).toEqual([]);

  const user = await createTestUser(app, { organizationId: id, role: "dispatcher" });
  const { page } = await visit(app, "/jobs", { user });
  await page.getByRole("main").getByRole("link", { name: "Import jobs" }).click();
  await chooseFile(page, "jobs.csv", Buffer.from(`Tracking;Agent;Recipient\n0${agent};${agent};Noor\n`));
  await expectVisible(page.getByText("1 of 3 columns is skipped."));
  await page.getByRole("combobox", { name: "Import Agent as" }).click();
  await expectVisible(page.getByRole("option", { name: "Contractor" }));
  expect(await page.getByRole("option", { name: /Agent|Carrier/ }).count()).toBe(0);
  await page.keyboard.press("Escape");
  expect(await findPageProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Import 1 row" }).click();
  await expectVisible(page.getByText("The row was imported."));
  await page.getByRole("link", { name: "View jobs" }).click();
  await expectVisible(page.getByRole("link", { name: `0${agent}` }));
});

it("reads a file as Excel saves it in Europe, groups its errors, and saves the rows with errors to correct them", async () => {
  const { name: agent } = await app.createOrganization("agent");
  const { page } = await visit(app, "/import", { user: operator });
  const header = "Tracking;Agent;Recipient;Pieces;Date";
  const bad = [
    `;${agent};Zo\u00EB;2;31/12/2026`,
    `${agent}-2;${agent};x;two;31/12/2026`,
    `${agent}-3;${agent};y;3,5;`,
  ];
  const rows = [`${agent}-1;${agent};Zo\u00EB;1;31/12/2026`, ...bad];
  await chooseFile(page, "week.csv", Buffer.from(`${header}\r\n${rows.join("\r\n")}\r\n`, "latin1"));
  await expectVisible(page.getByText("it is read as Windows-1252"));
  await expectVisible(page.getByText("Zoë · x · y"));
  await expectVisible(page.getByRole("combobox", { name: "Dates in the file" }));
  await expect
    .poll(() => page.getByRole("combobox", { name: "Dates in the file" }).inputValue())
    .toContain("Day first");
  await page.getByRole("button", { name: "Preview" }).click();
  const kinds = page.getByRole("table", { name: "Kinds of errors" });
  await expectVisible(kinds.getByText("Pieces must be a whole number, such as 3"));
  await expectVisible(kinds.getByText("line 4: two · line 5: 3,5"));
  await expectVisible(kinds.getByText("Marking Number is missing"));
  expect(await findPageProblems(page)).toEqual([]);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download these rows" }).click();
  const text = await readFile(await (await download).path(), "utf8");
  expect(text.split("\r\n").slice(0, 2)).toEqual([
    `\uFEFF${header};Error`,
    `;${agent};Zoë;2;31/12/2026;Marking Number is missing`,
  ]);
});

it("asks before a click in the navigation stops an import", async () => {
  const { name: agent } = await app.createOrganization("agent");
  const { page } = await visit(app, "/import", { user: operator });
  await chooseFile(page, "jobs.csv", Buffer.from(`Tracking,Agent\n${agent}-1,${agent}\n`));
  await page.getByRole("button", { name: "Preview" }).click();
  // The import never ends.
  await page.route("**/console-api/imports?dry_run=false*", () => undefined);
  await page.getByRole("button", { name: "Import 1 row" }).click();
  const jobs = page.getByRole("navigation").getByRole("link", { name: "Jobs", exact: true });
  await jobs.click();
  await page.getByRole("button", { name: "Continue" }).click();
  await expectVisible(page.getByRole("heading", { name: "Importing" }));
  await jobs.click();
  await page.getByRole("button", { name: "Stop and leave" }).click();
  await expectVisible(page.getByRole("heading", { name: "Jobs", level: 1, exact: true }));
});
