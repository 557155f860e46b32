/** Rescheduling one job, and what the edit forms say about dates and failure reasons. */
import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { addDays, today } from "../../src/console/pages/jobs/job.due.ts";
import type { JobPatch } from "../../src/jobs/api.ts";
import { expectData } from "../support/app/assertions.ts";
import { getJob } from "../support/app/job-client.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, visit } from "../support/browser/tabs.ts";

const YESTERDAY = addDays(today(), -1);
const NEW_DAY = addDays(today(), 3);

const app = await startConsole();

async function openJobs(patches: readonly JobPatch[], path: (numbers: string[]) => string) {
  const jobs = patches.map((patch) => ({ patch }));
  const { agent, numbers, user } = await createAgent(app, { role: "dispatcher", jobs });
  const { page } = await visit(app, path(numbers), { user });
  return { agent, numbers, page };
}

const inPath = ([number = ""]: string[]): string => `/jobs/${encodeURIComponent(number)}`;

/** 13 jobs are only planned; 27 have a confirmed date, which decides when they are due. */
const lateJobs = Array.from({ length: 40 }, (_, index) => ({
  scheduled_date: YESTERDAY,
  ...(index < 27 && { scheduled_delivery_date: YESTERDAY }),
}));

async function selectAll(page: Page): Promise<void> {
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
}

it("jobs stay late if only their scheduled date changes, and the form and the preview say so", async () => {
  const { page } = await openJobs(lateJobs, () => "/jobs?late=true&size=50");
  await selectAll(page);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("combobox", { name: "Field to change" }).fill("Scheduled date");
  await page.getByRole("option", { name: "Scheduled date" }).click();
  await expectVisible(page.getByText("27 jobs have a confirmed date, which decides when they are due."));
  await page.getByLabel("Scheduled date", { exact: true }).fill(NEW_DAY);
  await page.getByRole("button", { name: "Preview" }).click();
  await expectVisible(page.getByText("13 no longer late, 27 still late"));
  await expectVisible(page.getByText("27: the confirmed date decides, and it is before today"));
});

it("one job is rescheduled on its page to a confirmed date", async () => {
  const plan = { scheduled_date: YESTERDAY, scheduled_delivery_pending: true };
  const { agent, numbers, page } = await openJobs([plan], inPath);
  await page.getByRole("button", { name: "Reschedule" }).click();
  await page.getByLabel("New date").fill(NEW_DAY);
  await page.getByLabel("This date is confirmed").check();
  await page.getByRole("button", { name: "Preview" }).click();
  await expectVisible(page.getByText("1 no longer late"));
  await page.getByRole("button", { name: "Reschedule 1 job" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await expectVisible(page.getByText("Updated", { exact: true }));
  expect(expectData(await getJob(app, agent, numbers[0] ?? ""))).toMatchObject({
    scheduled_date: YESTERDAY,
    scheduled_delivery_date: NEW_DAY,
    scheduled_delivery_pending: false,
  });
});

it("the form of a failed job shows the label of its reason, and clears it for a status that has none", async () => {
  const failed = {
    normalized_status: "failed",
    failure_reason: "recipient_unavailable",
    scheduled_delivery_date: YESTERDAY,
  };
  const { agent, numbers, page } = await openJobs([failed], inPath);
  await page.getByRole("button", { name: "Edit" }).click();
  const form = page.getByRole("dialog");
  const reason = form.getByLabel("Failure reason", { exact: true });
  await expectVisible(form.getByText("The confirmed date decides when this job is due"));
  await expect.poll(() => reason.inputValue()).toBe("Recipient unavailable");
  await form.getByLabel("Status", { exact: true }).click();
  await page.getByRole("option", { name: "Completed", exact: true }).click();
  await expectVisible(form.getByText("Cleared, because only a failed or held job has a reason"));
  await expect.poll(() => reason.inputValue()).toBe("");
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "hidden" });
  expect(expectData(await getJob(app, agent, numbers[0] ?? ""))).toMatchObject({
    normalized_status: "completed",
    failure_reason: null,
  });
});

it("editing many jobs clears their reasons with such a status, unless the user removes the field", async () => {
  const failed = { normalized_status: "failed", failure_reason: "recipient_unavailable" };
  const { agent, numbers, page } = await openJobs([failed, failed], () => "/jobs");
  await selectAll(page);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("combobox", { name: "Field to change" }).fill("Status");
  await page.getByRole("option", { name: "Status" }).click();
  const choose = async (status: string): Promise<void> => {
    await page.getByRole("combobox", { name: "Status", exact: true }).click();
    await page.getByRole("option", { name: status, exact: true }).click();
  };
  const isCleared = page.getByLabel("Clear Failure reason");
  await choose("Completed");
  await expectVisible(isCleared);
  await choose("On hold");
  await isCleared.waitFor({ state: "detached" });
  await choose("Completed");
  await expect.poll(() => isCleared.isChecked()).toBe(true);
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Change 2 jobs" }).click();
  await expectVisible(page.getByText("2 jobs changed"));
  expect(expectData(await getJob(app, agent, numbers[1] ?? ""))).toMatchObject({
    normalized_status: "completed",
    failure_reason: null,
  });
});
