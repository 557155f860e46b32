/** Whether every change's event came to everybody it was for, once it is quiet; by the receivers, held against PostgreSQL. */
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { toTypedId } from "../../src/platform/ids.ts";
import { RELIABLE_BEHAVIOURS, type Behaviour } from "./plan.ts";
import type { ReceivedTotals } from "./receivers.ts";
import type { SubscribedEvents } from "./subscribers.ts";
import type { SoakEndpoint } from "./dataset.ts";

export interface EndpointOutcome {
  behaviour: Behaviour;
  /** Events that are for it. */
  events: number;
  /** Distinct ones that it answered with 200. */
  accepted: number;
  missing: number;
  /** Events that are not for it. */
  unexpected: number;
  /** Answered with 200 more than once. */
  duplicates: number;
  requests: number;
  attemptsOnRecord: number;
  wrongSignatures: number;
  delivered: number;
  dead: number;
  waiting: number;
  status: string;
}

export interface DeliveryOutcome {
  events: number;
  endpoints: EndpointOutcome[];
  /** Waiting without anybody to wake them, or leased to nobody who lives. */
  stuck: number;
  /** From the last change until the receivers that take everything had everything. */
  drainedAfterS: number;
}

/** A lease may have to run out, and then the sweep comes; and a slow receiver has its backlog. */
const TIMEOUT_MS = 180_000;
const POLL_INTERVAL_MS = 500;
const OVERDUE = "60 s";

/** Uuids of those that take everything. */
export function reliableEndpointIds(endpoints: readonly SoakEndpoint[]): string[] {
  return endpoints.filter(({ behaviour }) => RELIABLE_BEHAVIOURS.has(behaviour)).map(({ id }) => id);
}

/** Resolves once those who take everything have nothing left to get, or it has taken too long: with the seconds. */
export async function waitUntilDrained(
  client: pg.Client,
  endpoints: readonly SoakEndpoint[],
): Promise<number> {
  const faithful = reliableEndpointIds(endpoints);
  const startedMs = Date.now();
  while (Date.now() - startedMs < TIMEOUT_MS) {
    const { rows } = await client.query(
      "select from webhook_delivery where status = 'pending' and endpoint_id = any($1) limit 1",
      [faithful],
    );
    if (rows.length === 0) break;
    await pause(POLL_INTERVAL_MS);
  }
  return (Date.now() - startedMs) / 1_000;
}

/** `received`: by the number of the endpoint. */
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
    -- One that hangs is sent one at a time, and the others wait for it.
    and not exists (
      select from webhook_delivery flying
      where flying.status = 'pending' and flying.endpoint_id = endpoint.id
        and flying.lease_token is not null and flying.due_at > now())`;

export interface SubscriptionOutcome {
  /** Events of the feed between the first and the last that a subscription told, which it did not tell. */
  missed: number;
  /** Events that it told, of jobs that are not its organisation's. */
  strange: number;
}

export async function checkSubscriptions(
  client: pg.Client,
  told: readonly SubscribedEvents[],
): Promise<SubscriptionOutcome> {
  const outcome = { missed: 0, strange: 0 };
  for (const [organizationId, subscriptions] of Map.groupBy(told, (one) => one.organizationId)) {
    const { rows } = await client.query<{ id: string }>(
      "select id from job_event where agent_id = $1 or contractor_id = $1 order by transaction_id, position",
      [organizationId],
    );
    const feed = rows.map(({ id }) => toTypedId("evt", id));
    for (const { eventIds } of subscriptions) {
      const isTold = (id: string): boolean => eventIds.has(id);
      const between = feed.slice(feed.findIndex(isTold), feed.findLastIndex(isTold) + 1);
      outcome.missed += between.filter((id) => !isTold(id)).length;
      outcome.strange += eventIds.difference(new Set(between)).size;
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

type Records = Pick<EndpointOutcome, "attemptsOnRecord" | "delivered" | "dead" | "waiting" | "status">;

async function readRecords(client: pg.Client, endpointId: string): Promise<Records> {
  const { rows } = await client.query<Records>(
    `select count(*) filter (where status = 'delivered')::int as delivered,
       count(*) filter (where status = 'dead')::int as dead,
       count(*) filter (where status = 'pending')::int as waiting,
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
