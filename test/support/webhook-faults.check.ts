/** What holds of webhooks whatever was killed: each committed event arrived everywhere it should, and nothing else did. */
import { expect } from "vitest";
import type { Database } from "../../src/platform/database.ts";
import { toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/sql.ts";
import { queryMoving } from "../../src/webhooks/moving.ts";
import { verify } from "../../src/webhooks/signature.ts";
import { eventually } from "./webhook-faults.load.ts";
import type { FaultEndpoint, FaultWorld } from "./webhook-faults.ts";
import type { Received } from "./webhook-receiver.ts";

export interface Delivered {
  events: number;
  deliveries: number;
  /** Requests beyond the one that each delivery needs and those that are on record as failed. */
  duplicates: number;
  /** The largest number of attempts of a delivery. */
  mostAttempts: number;
}

/** A lease and a lock of the scheduler may have to run out one after the other, and then the sweep comes. */
const PATIENCE_MS = 90_000;

/** Waits until nothing is left to deliver, then holds everything against the events. At most `duplicates` came twice. */
export async function checkDelivered(world: FaultWorld, limits: { duplicates: number }): Promise<Delivered> {
  await untilDelivered(world.database);
  const events = await eventsOf(world.database);
  checkSequences(events, await versionsOf(world.database));
  const deliveries = await deliveriesOf(world.database);
  const perEndpoint = world.endpoints.map((endpoint) => {
    const expected = events.filter((event) => isFor(event, endpoint.id));
    const own = deliveries.filter(({ endpoint_id: id }) => id === endpoint.id);
    checkRequests(endpoint, expected);
    return checkRecords(endpoint, expected, own);
  });
  const duplicates = perEndpoint.reduce((sum, count) => sum + count, 0);
  expect(duplicates).toBeLessThanOrEqual(limits.duplicates);
  return {
    events: events.length,
    deliveries: deliveries.length,
    duplicates,
    mostAttempts: Math.max(...deliveries.map(({ attempts }) => attempts)),
  };
}

/** Resolves once nothing waits or is on its way, in a database that may be away for a moment. */
async function untilDelivered(database: Database): Promise<void> {
  await eventually(async () => {
    const [left] = await database.query<{ pending: number; leased: number }>(sql`
      select count(*)::int as pending, count(lease_token)::int as leased from webhook_delivery where status = 'pending'`);
    expect(left).toEqual({ pending: 0, leased: 0 });
  }, PATIENCE_MS);
}

interface EventRow {
  id: string;
  job_id: string;
  sequence: number;
  /** The endpoints that are to get it, by the partners that may see it and the types that they want. */
  endpoints: string[];
}

function eventsOf(database: Database): Promise<EventRow[]> {
  return database.query<EventRow>(sql`
    select event.id, event.job_id, event.sequence, array(
        select endpoint.id::text from webhook_endpoint endpoint
        where endpoint.organization_id in (event.agent_id, event.contractor_id)
          and coalesce(event.type = any(endpoint.event_types), true)) as endpoints
    from job_event event order by event.id`);
}

const isFor = (event: EventRow, endpointId: string): boolean => event.endpoints.includes(endpointId);

async function versionsOf(database: Database): Promise<Map<string, number>> {
  const rows = await database.query<{ id: string; version: number }>(sql`select id, version from job`);
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/** Each job's events are numbered 1, 2, 3 and so on, one for each of its versions. */
function checkSequences(events: readonly EventRow[], versions: ReadonlyMap<string, number>): void {
  const byJob = Map.groupBy(events, ({ job_id: id }) => id);
  for (const [jobId, version] of versions) {
    const sequences = (byJob.get(jobId) ?? []).map(({ sequence }) => sequence).toSorted((a, b) => a - b);
    expect(sequences).toEqual(Array.from({ length: version }, (_, at) => at + 1));
  }
}

const webhookIdOf = ({ headers }: Received): string => String(headers["webhook-id"]);

/** What came to the endpoint: every event and no other, signed, the same each time, with the sequence of its event. */
function checkRequests(endpoint: FaultEndpoint, expected: readonly EventRow[]): void {
  const requests = endpoint.received();
  const byId = Map.groupBy(requests, webhookIdOf);
  expect([...byId.keys()].toSorted()).toEqual(expected.map(({ id }) => toTypedId("evt", id)).toSorted());
  for (const { id, sequence } of expected) {
    const bodies = new Set((byId.get(toTypedId("evt", id)) ?? []).map(({ body }) => body));
    expect(bodies.size).toBe(1);
    const [body] = [...bodies].map((text) => JSON.parse(text) as { id: string; data: { sequence: number } });
    expect({ id: body?.id, sequence: body?.data.sequence }).toEqual({ id: toTypedId("evt", id), sequence });
  }
  const unsigned = requests.filter((request) => !isSigned(request, endpoint.secrets));
  expect(unsigned).toEqual([]);
}

/** Whether one of these made a signature of it that was good when it came. */
export function isSigned({ headers, body, atMs }: Received, secrets: readonly string[]): boolean {
  const signed = {
    "webhook-id": headers["webhook-id"] as string,
    "webhook-timestamp": headers["webhook-timestamp"] as string,
    "webhook-signature": headers["webhook-signature"] as string,
  };
  return secrets.some((secret) => verify(secret, { headers: signed, body }, { nowMs: atMs }).valid);
}

interface DeliveryRow {
  endpoint_id: string;
  event_id: string;
  status: string;
  attempts: number;
  outcome: string;
  is_leased: boolean;
  is_finished: boolean;
  /** Of the attempts on record, in their order. */
  numbers: number[];
  outcomes: string[];
}

function deliveriesOf(database: Database): Promise<DeliveryRow[]> {
  return database.query<DeliveryRow>(sql`
    select endpoint_id, event_id, status, attempts, outcome, lease_token is not null as is_leased,
      finished_at is not null as is_finished, made.numbers, made.outcomes
    from webhook_delivery delivery cross join lateral (
      select coalesce(array_agg(number order by number), '{}') as numbers,
        coalesce(array_agg(attempt.outcome order by number), '{}') as outcomes
      from webhook_attempt attempt where attempt.delivery_id = delivery.id) made`);
}

/** One delivery for each event, finished; each attempt recorded at most once, and none sent without being counted. */
function checkRecords(
  endpoint: FaultEndpoint,
  expected: readonly EventRow[],
  deliveries: readonly DeliveryRow[],
): number {
  const delivered = deliveries.map((row) => row.event_id);
  expect(delivered.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
  const requests = Map.groupBy(endpoint.received(), webhookIdOf);
  let duplicates = 0;
  for (const row of deliveries) {
    expect(row).toMatchObject({
      status: "delivered",
      outcome: "delivered",
      is_leased: false,
      is_finished: true,
    });
    const { numbers, outcomes, attempts } = row;
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers.every((number) => number >= 1 && number <= attempts)).toBe(true);
    expect(outcomes).toContain("delivered");
    const sent = requests.get(toTypedId("evt", row.event_id))?.length ?? 0;
    expect(sent).toBeLessThanOrEqual(attempts);
    expect(sent).toBeGreaterThanOrEqual(numbers.length);
    duplicates += sent - 1 - outcomes.filter((outcome) => outcome !== "delivered").length;
  }
  return duplicates;
}

/** As if half a minute had passed: what is leased to somebody is anybody's. Answers with how many leases ran out by that. */
export async function expireLeases({ database }: Pick<FaultWorld, "database">): Promise<number> {
  // It tries again where a row that it waited for was moved to the log meanwhile.
  const rows = await queryMoving(
    database,
    sql`update webhook_delivery set due_at = clock_timestamp() - interval '1 s'
      where status = 'pending' and lease_token is not null and due_at > clock_timestamp() returning 1`,
  );
  return rows.length;
}
