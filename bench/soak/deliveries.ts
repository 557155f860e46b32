/** Checks after the traffic that every event reached its endpoints and subscriptions, by comparing receivers with PostgreSQL. */
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { toTypedId } from "../../src/platform/ids.ts";
import { RELIABLE_BEHAVIOURS, type Behaviour } from "./plan.ts";
import type { ReceivedTotals } from "./receivers.ts";
import type { SubscribedEvents } from "./subscribers.ts";
import type { SoakEndpoint } from "./dataset.ts";

export interface EndpointOutcome {
  behaviour: Behaviour;
  /** Events of the organisation's jobs. */
  events: number;
  /** Distinct events that the receiver answered with 200. */
  accepted: number;
  missing: number;
  /** Accepted events that are not the organisation's. */
  unexpected: number;
  /** Events that the receiver answered with 200 more than once. */
  duplicates: number;
  requests: number;
  attemptsOnRecord: number;
  wrongSignatures: number;
  delivered: number;
  failed: number;
  pending: number;
  status: string;
}

export interface DeliveryOutcome {
  events: number;
  endpoints: EndpointOutcome[];
  /** Deliveries overdue by more than 60 s that nothing explains: no open circuit, no delivery in flight to the same endpoint. */
  stuck: number;
  /** Seconds from the last change until the reliable receivers had everything. */
  drainedAfterS: number;
}

/** Long enough for an expired lease and the next sweep, and for a slow receiver's backlog. */
const TIMEOUT_MS = 180_000;
const POLL_INTERVAL_MS = 500;
const OVERDUE = "60 s";

/** Returns the uuids of the endpoints whose receivers accept every event sooner or later. */
export function reliableEndpointIds(endpoints: readonly SoakEndpoint[]): string[] {
  return endpoints.filter(({ behaviour }) => RELIABLE_BEHAVIOURS.has(behaviour)).map(({ id }) => id);
}

/** Resolves when the reliable endpoints have no pending delivery, or after the timeout; returns the seconds waited. */
export async function waitUntilDrained(
  client: pg.Client,
  endpoints: readonly SoakEndpoint[],
): Promise<number> {
  const reliable = reliableEndpointIds(endpoints);
  const startedMs = Date.now();
  while (Date.now() - startedMs < TIMEOUT_MS) {
    const { rows } = await client.query(
      "select from webhook_delivery where status = 'pending' and endpoint_id = any($1) limit 1",
      [reliable],
    );
    if (rows.length === 0) break;
    await pause(POLL_INTERVAL_MS);
  }
  return (Date.now() - startedMs) / 1_000;
}

/** `received`: the receivers' counts, by endpoint number. */
export async function checkDeliveries(
  client: pg.Client,
  endpoints: readonly SoakEndpoint[],
  received: ReadonlyMap<number, ReceivedTotals>,
): Promise<Omit<DeliveryOutcome, "drainedAfterS">> {
  const outcomes: EndpointOutcome[] = [];
  for (const [number, endpoint] of endpoints.entries())
    outcomes.push(await checkEndpoint(client, endpoint, received.get(number)));
  return {
    events: await count(client, "select count(*)::int as count from job_event"),
    endpoints: outcomes,
    stuck: await count(client, COUNT_STUCK, [OVERDUE]),
  };
}

const COUNT_STUCK = `
  select count(*)::int as count from webhook_delivery delivery
    join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
  where delivery.status = 'pending' and delivery.due_at < now() - $1::interval
    and endpoint.status = 'active' and coalesce(endpoint.blocked_until, '-infinity') < now() - $1::interval
    -- A hanging endpoint gets one delivery at a time, and its others wait.
    and not exists (
      select from webhook_delivery leased
      where leased.status = 'pending' and leased.endpoint_id = endpoint.id
        and leased.lease_token is not null and leased.due_at > now())`;

export interface SubscriptionOutcome {
  /** Events of the feed between the first and the last received one that the subscription did not receive. */
  missed: number;
  /** Received events of other organisations' jobs. */
  foreign: number;
}

export async function checkSubscriptions(
  client: pg.Client,
  subscribed: readonly SubscribedEvents[],
): Promise<SubscriptionOutcome> {
  const outcome = { missed: 0, foreign: 0 };
  for (const [organizationId, subscriptions] of Map.groupBy(subscribed, (one) => one.organizationId)) {
    const { rows } = await client.query<{ id: string }>(
      "select id from job_event where agent_id = $1 or contractor_id = $1 order by transaction_id, position",
      [organizationId],
    );
    const feed = rows.map(({ id }) => toTypedId("evt", id));
    for (const { eventIds } of subscriptions) {
      const isReceived = (id: string): boolean => eventIds.has(id);
      const between = feed.slice(feed.findIndex(isReceived), feed.findLastIndex(isReceived) + 1);
      outcome.missed += between.filter((id) => !isReceived(id)).length;
      outcome.foreign += eventIds.difference(new Set(between)).size;
    }
  }
  return outcome;
}

async function checkEndpoint(
  client: pg.Client,
  { id, organizationId, behaviour }: SoakEndpoint,
  received: ReceivedTotals = { requests: 0, accepted: new Map(), wrongSignatures: 0 },
): Promise<EndpointOutcome> {
  const { rows } = await client.query<{ id: string }>(
    "select id from job_event where agent_id = $1 or contractor_id = $1",
    [organizationId],
  );
  const expected = new Set(rows.map((row) => toTypedId("evt", row.id)));
  const { accepted } = received;
  return {
    behaviour,
    events: expected.size,
    accepted: accepted.size,
    missing: expected.difference(accepted).size,
    unexpected: [...accepted.keys()].filter((eventId) => !expected.has(eventId)).length,
    duplicates: [...accepted.values()].filter((times) => times > 1).length,
    requests: received.requests,
    wrongSignatures: received.wrongSignatures,
    ...(await readRecords(client, id)),
  };
}

type Records = Pick<EndpointOutcome, "attemptsOnRecord" | "delivered" | "failed" | "pending" | "status">;

async function readRecords(client: pg.Client, endpointId: string): Promise<Records> {
  const { rows } = await client.query<Records>(
    `select count(*) filter (where status = 'delivered')::int as delivered,
       count(*) filter (where status = 'failed')::int as failed,
       count(*) filter (where status = 'pending')::int as pending,
       coalesce(sum((select count(*) from webhook_attempt where delivery_id = webhook_delivery.id)), 0)::int
         as "attemptsOnRecord",
       (select concat_ws(', ', status, disabled_reason, case when circuit_step is not null then 'circuit open' end)
        from webhook_endpoint where id = $1) as status
     from webhook_delivery where endpoint_id = $1`,
    [endpointId],
  );
  return rows[0] as Records;
}

async function count(client: pg.Client, text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await client.query<{ count: number }>(text, values);
  return rows[0]?.count ?? 0;
}
