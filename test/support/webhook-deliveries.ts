/** An agent with one endpoint, and deliveries of it that end without a worker. */
import type { Principal } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import type { DeliveryFilter } from "../../src/webhooks/delivery.queries.ts";
import type { DeliveryView } from "../../src/webhooks/delivery.view.ts";
import { endpointOf, uuidOf } from "./webhook-endpoints.ts";
import type { WebhookServices } from "./webhook-services.ts";

interface AgentWithEndpoint {
  agent: Principal;
  /** Of the endpoint: typed, and as stored. */
  id: string;
  uuid: string;
  list: (filter?: DeliveryFilter) => Promise<DeliveryView[]>;
}

export async function agentWithEndpoint(
  services: WebhookServices,
  eventTypes: string[] | null = null,
): Promise<AgentWithEndpoint> {
  const agent = await services.partner("agent");
  const id = await endpointOf(services, agent, { eventTypes });
  return {
    agent,
    id,
    uuid: uuidOf(id),
    async list(filter = {}) {
      return (await services.deliveries.list(agent, { filter, limit: 200 })).items;
    },
  };
}

/** Ends pending deliveries of an endpoint, as a worker does; `agoMs`: when. */
export async function endPending(
  { database }: WebhookServices,
  endpoint: string,
  status: "delivered" | "dead",
  { agoMs = 0, count = 1_000_000 } = {},
): Promise<void> {
  await database.query(sql`
    update webhook_delivery set status = ${status}, attempts = 1, finished_at = ${new Date(Date.now() - agoMs)},
      outcome = ${status === "dead" ? "http_500" : "delivered"}
    where status = 'pending' and id in (
      select id from webhook_delivery where endpoint_id = ${endpoint} and status = 'pending' order by id limit ${count})`);
}
