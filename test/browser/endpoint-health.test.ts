/** The page of an endpoint whose receiver fails. The console of the tests has no worker that sends. */
import { expect, it } from "vitest";
import { fromTypedId, newUuid } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, visit } from "../support/browser/tabs.ts";
import { UNREACHABLE_URL } from "../support/webhooks/endpoint.fixture.ts";

const app = await startConsole();

/** Opens the page of an endpoint that backs off, with deliveries of `count` jobs, of which one has failed once with 500. */
async function openFailingEndpoint(count: number) {
  const { agent, user } = await createAgent(app);
  const body = JSON.stringify({ url: UNREACHABLE_URL });
  const created = await app.call("/v1/webhook-endpoints", { key: agent.key, method: "POST", body });
  const { id } = (created.body.data as { endpoint: { id: string } }).endpoint;
  const uuid = fromTypedId("whe", id);
  await app.createJobs(agent, count);
  await app.database.query(sql`
    with tried as (
      update webhook_delivery set attempts = 1, outcome = 'http_500', due_at = now() + interval '1 h' where status = 'pending' and id = (
        select id from webhook_delivery where endpoint_id = ${uuid} order by id limit 1) returning id)
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error, request_headers,
      response_headers, response_body)
    select ${newUuid()}, id, 1, now(), 84, 'http_500', 500, 'The receiver returned 500 Internal Server Error.', '{}', '{}', 'Out of order'
    from tried`);
  await app.database.query(sql`
    update webhook_endpoint set failing_since = now() - interval '1 h', circuit_step = 5,
      blocked_until = now() + interval '15 min' where id = ${uuid}`);
  return { id, uuid, ...(await visit(app, `/integrations/endpoints/${id}`, { user })) };
}

it("shows the cause of 45 waiting deliveries, and within 15 s that they were delivered", async () => {
  const { page, uuid } = await openFailingEndpoint(45);
  await expectVisible(page.getByText("Last error: HTTP 500.", { exact: false }).first());
  const day = page.getByRole("region", { name: "Last 24 hours" });
  await expectVisible(day.getByText("Out of order"));
  await expectVisible(day.getByText("0 %", { exact: true }));
  const rows = page.getByRole("table", { name: "Deliveries" }).getByRole("row");
  const waiting = rows.filter({ hasText: "Waits: recent deliveries to the endpoint failed" });
  await expect.poll(() => waiting.count()).toBe(8);

  expect(await findPageProblems(page)).toEqual([]);

  await app.database.query(sql`
    update webhook_delivery set status = 'delivered', outcome = 'delivered', attempts = 1, finished_at = now()
    where endpoint_id = ${uuid} and status = 'pending'`);
  await rows.filter({ hasText: "Delivered" }).nth(7).waitFor({ timeout: 15_000 });
  await page.goto("/integrations/endpoints");
  await expectVisible(
    page.getByRole("row").filter({ hasText: UNREACHABLE_URL }).getByText("0 %", { exact: true }),
  );
});

it("makes retries due on request, and no longer shows a later attempt", async () => {
  const { page, uuid } = await openFailingEndpoint(2);
  await app.database.query(sql`
    update webhook_delivery set attempts = 3, due_at = now() + interval '31 min' where endpoint_id = ${uuid}`);
  await page.reload();
  const alert = page.getByRole("alert").filter({ hasText: "Backing off" });
  await expectVisible(alert.getByText("Next attempt in 31 minutes"));
  await alert.getByRole("button", { name: "Retry now" }).click();
  await expectVisible(page.getByText("Retrying now."));
  expect(await alert.getByText("Next attempt").count()).toBe(0);
  const [waiting] = await app.database.query(sql`
    select count(*)::int as count from webhook_delivery where endpoint_id = ${uuid} and due_at > now()`);
  expect(waiting).toEqual({ count: 0 });
});
