/** "Retry now" on the page of an endpoint whose receiver was down. The console of the tests has no worker that sends. */
import { expect, it } from "vitest";
import { fromTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { createTestUser } from "../support/accounts/session-client.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../support/browser/tabs.ts";
import { UNREACHABLE_URL } from "../support/webhooks/endpoint.fixture.ts";

it("makes retries due, and the page no longer shows a later attempt", async () => {
  const app = await startConsole();
  const agent = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  const body = JSON.stringify({ url: UNREACHABLE_URL });
  const created = await app.call("/v1/webhook-endpoints", { key: agent.key, method: "POST", body });
  const { id } = (created.body.data as { endpoint: { id: string } }).endpoint;
  const uuid = fromTypedId("whe", id);
  await app.database.query(sql`
    update webhook_endpoint set failing_since = now() - interval '1 h', circuit_step = 5,
      blocked_until = now() + interval '15 min' where id = ${uuid}`);
  await app.createJobs(agent, [{}, {}]);
  await app.database.query(sql`
    update webhook_delivery set attempts = 3, due_at = now() + interval '31 min' where endpoint_id = ${uuid}`);

  const { page, pageErrors } = await openTab(app, { user });
  await page.goto(`/integrations/endpoints/${id}`);
  const alert = page.getByRole("alert").filter({ hasText: "Backing off" });
  await expectVisible(alert.getByText("Next attempt in 31 minutes"));
  await alert.getByRole("button", { name: "Retry now" }).click();
  await expectVisible(page.getByText("Retrying now."));
  expect(await alert.getByText("Next attempt").count()).toBe(0);
  const [waiting] = await app.database.query(sql`
    select count(*)::int as count from webhook_delivery where endpoint_id = ${uuid} and due_at > now()`);
  expect(waiting).toEqual({ count: 0 });
  expect(pageErrors).toEqual([]);
});
