/** An agent with one endpoint, whose deliveries are finished without a worker. */
import { sql } from "../../../src/core/postgres/sql.ts";
import type { DeliveryFilter } from "../../../src/webhooks/deliveries/log-pages.sql.ts";
import type { DeliveryView } from "../../../src/webhooks/deliveries/view.ts";
import { createEndpointFor, endpointUuid } from "./endpoint.fixture.ts";
import type { WebhookServiceFixture } from "./service.fixture.ts";

export async function createAgentWithEndpoint(
  services: WebhookServiceFixture,
  eventTypes: string[] | null = null,
) {
  const agent = await services.createOrganization("agent");
  const id = await createEndpointFor(services, agent, { eventTypes });
  return {
    agent,
    /** The endpoint's typed ID; `uuid` is the stored form. */
    id,
    uuid: endpointUuid(id),
    list: async (filter: DeliveryFilter = {}): Promise<DeliveryView[]> =>
      (await services.deliveries.list(agent, { filter, limit: 200 })).items,
  };
}

/** The same with `count` failed deliveries, newest first. */
export async function createAgentWithFailed(services: WebhookServiceFixture, count: number) {
  const own = await createAgentWithEndpoint(services);
  await services.createJobs(own.agent, count);
  await finishPendingDeliveries(services, own.uuid, "failed");
  return { ...own, ids: (await own.list()).map(({ id }) => id) };
}

/** Finishes up to `count` pending deliveries of an endpoint like a worker, `agoMs` milliseconds ago. */
export async function finishPendingDeliveries(
  { database }: Pick<WebhookServiceFixture, "database">,
  endpoint: string,
  status: "delivered" | "failed",
  { agoMs = 0, count = 1_000_000 } = {},
): Promise<void> {
  await database.query(sql`
    update webhook_delivery set status = ${status}, attempts = 1, finished_at = ${new Date(Date.now() - agoMs)},
      outcome = ${status === "failed" ? "http_500" : "delivered"}
    where status = 'pending' and id in (
      select id from webhook_delivery where endpoint_id = ${endpoint} and status = 'pending' order by id limit ${count})`);
}
