/** The tasks of people in the console, and the most steps that each may take from its first page. */
import { Readable } from "node:stream";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { addDays, today } from "../../src/console/pages/jobs/job.due.ts";
import { fromTypedId, newUuid } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { readXlsx } from "../../src/core/records/xlsx.ts";
import type { UserRole } from "../../src/organizations/user.entity.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { expectData } from "../support/app/assertions.ts";
import type { TestJob, TestOrganization } from "../support/app/app.fixture.ts";
import { getJob } from "../support/app/job-client.ts";
import * as fixture from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { limitSteps } from "../support/browser/steps.ts";
import { expectVisible, visit } from "../support/browser/tabs.ts";
import { eventually } from "../support/eventually.ts";
import { queryData } from "../support/graphql/client.ts";
import { UNREACHABLE_URL } from "../support/webhooks/endpoint.fixture.ts";

const TODAY = today();
const YESTERDAY = addDays(TODAY, -1);

const app = await startConsole();
const operator = await createSignedInUser(app, null);

/** Opens the page that a task begins with. The test fails at the step after `most`, or if the browser logs an error. */
async function open(most: number, user: SignedInTestUser, path: string) {
  const { page } = await visit(app, path, { user });
  return { page, user: limitSteps(page, most) };
}

async function createAgent(jobs: readonly TestJob[] = [], role: UserRole = "dispatcher") {
  const { user: person, ...created } = await fixture.createAgent(app, { jobs, role });
  return { person, ...created };
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
const rowOf = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

it("finds a job by its phone number in another spelling, in 1 step", async () => {
  const { person } = await createAgent([
    { patch: { recipient_name: "Priya", recipient_contact: "+44 20 7946 0123" } },
    { patch: { recipient_name: "Søren", recipient_contact: "+44 20 7946 0188" } },
    { patch: { recipient_name: "Zoë" } },
  ]);
  const { page, user } = await open(1, person, "/jobs");
  await expectVisible(page.getByText("3 jobs in total"));
  await user.fill(page.getByRole("searchbox", { name: "Search jobs" }), "020 7946-0123");
  await expectVisible(page.getByText("1 job in total"));
  await expectVisible(rowOf(page, "Priya"));
});

it("sees what is late today, in 1 step", async () => {
  const { person, numbers } = await createAgent([
    { patch: { scheduled_date: YESTERDAY } },
    { patch: { scheduled_date: TODAY, scheduled_delivery_date: YESTERDAY } },
    { patch: { scheduled_date: YESTERDAY, scheduled_delivery_date: TODAY } },
    { patch: { scheduled_date: YESTERDAY, normalized_status: "completed" } },
  ]);
  const { page, user } = await open(1, person, "/");
  await user.click(page.getByRole("list", { name: "Jobs of today" }).getByRole("link", { name: "Late" }));
  await expectVisible(page.getByText("2 jobs in total"));
  for (const number of numbers.slice(0, 2)) await expectVisible(rowOf(page, number));
});

it("reschedules 40 late jobs, so that all are on time, in 6 steps", async () => {
  const newDay = addDays(TODAY, 3);
  // 13 jobs are only planned; 27 have a confirmed date, which decides when they are due.
  const late = Array.from({ length: 40 }, (_, index) => ({
    patch: { scheduled_date: YESTERDAY, ...(index < 27 && { scheduled_delivery_date: YESTERDAY }) },
  }));
  const { agent, person } = await createAgent(late);
  const { page, user } = await open(6, person, "/");
  await user.click(page.getByRole("region", { name: "Late" }).getByRole("link", { name: "See all" }));
  await user.click(page.getByRole("checkbox", { name: "Select all on this page" }));
  await user.click(button(page, "Reschedule"));
  await user.fill(page.getByLabel("New date"), newDay);
  await user.click(button(page, "Preview"));
  await expectVisible(page.getByText("40 no longer late"));
  await user.click(button(page, "Reschedule 40 jobs"));
  await expectVisible(page.getByText("40 jobs changed"));
  const query = `{ late: jobs(filter: { isLate: true }) { totalCount }
  due: jobs(filter: { dueDate: { eq: "${newDay}" } }) { totalCount } }`;
  expect(await queryData(app, query, { key: agent.key })).toEqual({
    late: { totalCount: 0 },
    due: { totalCount: 40 },
  });
});

it("exports all pages of a filtered list, with its columns, names and labels, in 2 steps", async () => {
  const contact = { patch: { recipient_contact: "+44 20 7946 0123" } };
  const jobs = Array.from({ length: 120 }, () => contact);
  const { agent, numbers, person } = await createAgent([
    ...jobs,
    { patch: { normalized_status: "completed" } },
  ]);
  const columns = "columns=agent&columns=recipientContact&columns=status";
  const { page, user } = await open(2, person, `/jobs?status=pending&${columns}&sort=marking_number`);
  await expectVisible(page.getByText("120 jobs in total"));
  await user.click(button(page, "Export"));
  const file = await user.download(page.getByRole("menuitem", { name: /^Excel/ }));
  const rows = await Array.fromAsync(readXlsx(Readable.from([file])));
  const texts = rows.map(({ content }) => ("cells" in content ? content.cells.map(({ text }) => text) : []));
  const sorted = numbers.slice(0, 120).toSorted();
  expect(texts[0]).toEqual(["Marking Number", "Status", "Contact", "Agent"]);
  expect(texts[1]).toEqual([sorted[0], "Pending", "+44 20 7946 0123", agent.name]);
  expect(texts.slice(1).map(([number]) => number)).toEqual(sorted);
  await expectVisible(page.getByText("120 jobs exported to jobs-"));
  await page.getByRole("dialog").waitFor({ state: "hidden" });
});

it("sees why a job failed and who changed it, up to the request, in 2 steps", async () => {
  const { agent, numbers, person } = await createAgent([{}], "owner");
  const body = JSON.stringify({ normalized_status: "failed", failure_reason: "recipient_unavailable" });
  const path = `/v1/jobs/by-marking/${numbers[0]}`;
  const changed = await app.call(path, { method: "PATCH", key: agent.key, body });
  await logged(person, changed.body.request_id);
  const { page, user } = await open(2, person, "/jobs");
  await user.click(page.getByRole("link", { name: numbers[0]! }));
  await expectVisible(page.getByText("Status changed: Delivery failed"));
  await expectVisible(page.getByText("set to Recipient unavailable"));
  await expectVisible(page.getByText("key “test”"));
  await user.click(page.getByRole("link", { name: changed.body.request_id }));
  await expectVisible(rowOf(page, `PATCH ${path}`));
});

it("adds instructions to a job, in 3 steps", async () => {
  const { agent, numbers, person } = await createAgent([{}]);
  const { page, user } = await open(3, person, `/jobs/${numbers[0]}`);
  await user.click(button(page, "Edit"));
  await user.fill(page.getByRole("dialog").getByLabel("Instructions"), "Ring twice");
  await user.click(button(page, "Save"));
  await expectVisible(page.getByText(`${numbers[0]} saved.`));
  expect(expectData(await getJob(app, agent, numbers[0]!))).toMatchObject({ instructions: "Ring twice" });
});

it("creates a key that works, in 4 steps", async () => {
  const { person } = await createAgent([], "owner");
  const { page, user } = await open(4, person, "/integrations/keys");
  await user.click(button(page, "Create API key").first());
  const dialog = page.getByRole("dialog");
  await user.fill(dialog.getByLabel("Name"), "Warehouse sync");
  await user.click(dialog.getByRole("button", { name: "Create API key" }));
  const key = await dialog.getByText(/^wmk_/).innerText();
  await user.click(dialog.getByRole("button", { name: "I’ve saved it" }));
  await expectVisible(rowOf(page, "Warehouse sync"));
  expect((await app.call("/v1/jobs", { key })).status).toBe(200);
});

it("adds an endpoint, and sees its secret, in 4 steps", async () => {
  const { agent, person } = await createAgent([], "owner");
  const { page, user } = await open(4, person, "/integrations/endpoints");
  await user.click(button(page, "Create endpoint").first());
  const dialog = page.getByRole("dialog");
  await user.fill(dialog.getByLabel("URL"), UNREACHABLE_URL);
  await user.click(dialog.getByRole("button", { name: "Create endpoint" }));
  await expectVisible(dialog.getByText(/^whsec_/));
  await user.click(dialog.getByRole("button", { name: "Go to endpoint" }));
  await expectVisible(page.getByRole("heading", { level: 1, name: UNREACHABLE_URL }));
  const { body } = await app.call("/v1/webhook-endpoints", { key: agent.key });
  expect(body.data.items).toMatchObject([{ url: UNREACHABLE_URL, status: "active" }]);
});

/** Six deliveries to an endpoint: three failed, one is retried after an error, and two wait for their first attempt. */
async function createFailingDeliveries() {
  const { agent, person } = await createAgent([], "owner");
  const body = JSON.stringify({ url: UNREACHABLE_URL });
  const created = await app.call("/v1/webhook-endpoints", { key: agent.key, method: "POST", body });
  const uuid = fromTypedId("whe", created.body.data.endpoint.id);
  await app.createJobs(agent, [{}, {}, {}, {}, {}, {}]);
  await app.database.query(sql`
    with numbered as (select id, row_number() over (order by id) as number from webhook_delivery where endpoint_id = ${uuid}),
    failed as (
      update webhook_delivery set status = 'failed', outcome = 'http_503', attempts = 10, finished_at = now()
      from numbered where webhook_delivery.id = numbered.id and number > 3),
    tried as (
      update webhook_delivery set attempts = 1, outcome = 'http_500', due_at = now() + interval '1 h'
      from numbered where webhook_delivery.id = numbered.id and number = 1 returning numbered.id)
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error, request_headers,
      response_headers, response_body)
    select ${newUuid()}, id, 1, now(), 84, 'http_500', 500, 'The receiver returned 500 Internal Server Error.', '{}', '{}', ''
    from tried`);
  const replays = async () =>
    await app.database.query(sql`
      select count(*)::int as count from webhook_delivery where endpoint_id = ${uuid} and origin = 'replay'`);
  return { person, replays };
}

it("sees the deliveries that fail, in 2 steps", async () => {
  const { person } = await createFailingDeliveries();
  const { page, user } = await open(2, person, "/integrations/deliveries");
  const rows = page.getByRole("table", { name: "Deliveries" }).getByRole("row");
  await expectVisible(rows.nth(6));
  await user.click(page.getByRole("combobox", { name: "Status" }));
  await user.click(page.getByRole("option", { name: "Retrying" }));
  await expectVisible(rows.filter({ hasText: "84 ms" }));
  await expect.poll(() => rows.count()).toBe(2);
});

it("replays one delivery, in 3 steps", async () => {
  const { person, replays } = await createFailingDeliveries();
  const { page, user } = await open(3, person, "/integrations/deliveries?status=failed");
  await user.click(page.getByRole("row").nth(1).getByRole("link").first());
  await user.click(button(page, "Replay"));
  await user.click(page.getByRole("dialog").getByRole("button", { name: "Replay" }));
  await expectVisible(page.getByText("Replay started."));
  expect(await replays()).toEqual([{ count: 1 }]);
});

it("replays all failed deliveries of a list, in 3 steps", async () => {
  const { person, replays } = await createFailingDeliveries();
  const { page, user } = await open(3, person, "/integrations/deliveries?response=http_5xx&status=failed");
  await expectVisible(page.getByRole("row").nth(3));
  await user.click(page.getByRole("checkbox", { name: "Select all on this page" }));
  const bar = page.getByRole("region", { name: "Selected deliveries" });
  await user.click(bar.getByRole("button", { name: "Replay" }));
  const dialog = page.getByRole("dialog");
  await user.click(dialog.getByRole("button", { name: "Replay" }));
  await expectVisible(dialog.getByText("3 deliveries replayed."));
  expect(await replays()).toEqual([{ count: 3 }]);
  await button(page, "Close").last().click();
  await bar.waitFor({ state: "hidden" });
});

it("opens a request by its id from any page, in 3 steps", async () => {
  const { agent, person } = await createAgent([], "owner");
  const refused = await app.call("/v1/jobs/by-marking/NOWHERE", { key: agent.key });
  await logged(person, refused.body.request_id);
  const { page, user } = await open(3, person, "/members");
  await expectVisible(page.getByRole("heading", { level: 1, name: "Members" }));
  await user.press("ControlOrMeta+k");
  const palette = page.getByRole("dialog", { name: "Search and actions" });
  await user.fill(palette.getByRole("combobox"), refused.body.request_id);
  await expectVisible(palette.getByRole("option", { name: /^Open request/, selected: true }));
  await user.press("Enter");
  const drawer = page.getByRole("dialog", { name: "Request" });
  await expectVisible(drawer.getByText("/v1/jobs/by-marking/NOWHERE"));
  await expectVisible(drawer.getByText("How to fix it"));
});

it("approves an account, in 3 steps", async () => {
  const name = `Quay Haulage ${newUuid()}`;
  await fixture.requestAccount(app, operator, name);
  const { page, user } = await open(3, operator, "/operator/requests");
  await user.click(page.getByRole("link", { name }));
  await user.click(button(page, "Approve…"));
  await user.click(button(page, "Approve and send"));
  await expectVisible(page.getByText(`${name} approved.`));
  expect(await app.organizations.find(name)).toMatchObject({ type: "agent" });
});

it("imports 500 rows, and sees which 7 have errors, in 3 steps", async () => {
  const { agent } = await createAgent();
  const rows = Array.from({ length: 500 }, (_, index) =>
    [`${agent.name}-${index}`, agent.name, index % 80 === 0 ? "two" : "2"].join(),
  );
  const { page, user } = await open(3, operator, "/import");
  const text = ["Tracking,Agent,Pieces", ...rows].join("\n");
  await user.chooseFile(page.getByLabel("File to import"), "jobs.csv", text);
  await user.click(button(page, "Preview"));
  const kinds = page.getByRole("table", { name: "Kinds of errors" });
  await expectVisible(kinds.getByText("Pieces must be a whole number, such as 3"));
  await user.click(button(page, "Import 493 rows"));
  await expectVisible(page.getByRole("heading", { name: "Import finished" }));
  expect(await queryData(app, "{ jobs { totalCount } }", { key: agent.key })).toEqual({
    jobs: { totalCount: 493 },
  });
});

it("sees which partner is in trouble, and why, in 1 step", async () => {
  const { agent } = await createAgent();
  await disableEndpoint(agent);
  const { page, user } = await open(1, operator, "/");
  await user.click(page.getByRole("link", { name: "Organisations" }));
  const item = page.getByRole("region", { name: /Needs attention/ }).getByRole("listitem");
  const own = item.filter({ hasText: agent.name }).filter({ hasText: "Endpoint disabled" });
  await expectVisible(own.getByRole("link", { name: UNREACHABLE_URL }));
});

/** It failed before all endpoints of other tests, which makes it the first in the list. */
async function disableEndpoint({ id }: TestOrganization): Promise<void> {
  await app.database.query(sql`
    insert into webhook_endpoint (id, organization_id, url, secrets, created_by, status, disabled_reason, status_since)
    values (gen_random_uuid(), ${id}::uuid, ${UNREACHABLE_URL}, '[]', 'test', 'disabled', 'gone', '2020-01-01')`);
}

/** Waits until the request is in the log, which is written in batches. */
async function logged(owner: SignedInTestUser, requestId: string): Promise<void> {
  await eventually(async () => {
    const { requestLog } = await owner.queryData("{ requestLog(first: 10) { nodes { requestId } } }");
    expect(requestLog.nodes).toContainEqual({ requestId });
  });
}
