/** Checks after faults that each committed event arrived at exactly the endpoints that should get it. */
import { MongoClient } from "mongodb";
import { expect } from "vitest";
import type { Database } from "../../../src/core/postgres/database.ts";
import { toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { TASKS_COLLECTION } from "../../../src/scheduling/task.ts";
import { queryWithRetry } from "../../../src/webhooks/deliveries/discard-pending.sql.ts";
import { isSigned } from "../webhooks/is-signed.ts";
import { eventually } from "../eventually.ts";
import type { FaultEndpoint, FaultFixture } from "./webhook.fixture.ts";
import type { ReceivedRequest } from "../webhooks/receiver.ts";

export interface DeliveryTotals {
  events: number;
  /** Requests in addition to one per delivery and one per recorded failure. */
  duplicates: number;
  /** The maximum attempts of a delivery. */
  maxAttempts: number;
}

export interface DeliveryTolerances {
  /** The maximum number of duplicate requests. */
  duplicates: number;
  /** True if PostgreSQL crashed: it may have lost the records of attempts. */
  allowsLostRecords?: boolean;
}

/** Covers a delivery lease, then a scheduler lock, then the next sweep. */
const TIMEOUT_MS = 90_000;

/** Waits until no delivery is pending, then compares all requests and records with the events. */
export async function verifyDeliveries(
  fixture: FaultFixture,
  tolerances: DeliveryTolerances,
): Promise<DeliveryTotals> {
  await waitUntilDelivered(fixture.database);
  const events = await eventsOf(fixture.database);
  checkSequences(events, await versionsOf(fixture.database));
  const deliveries = await deliveriesOf(fixture.database);
  const perEndpoint = fixture.endpoints.map((endpoint) => {
    const expected = events.filter((event) => isAddressedTo(event, endpoint.id));
    const own = deliveries.filter(({ endpoint_id: id }) => id === endpoint.id);
    checkRequests(endpoint, expected);
    return checkRecords({ endpoint, expected, deliveries: own, tolerances });
  });
  const duplicates = perEndpoint.reduce((sum, count) => sum + count, 0);
  expect(duplicates).toBeLessThanOrEqual(tolerances.duplicates);
  return {
    events: events.length,
    duplicates,
    maxAttempts: Math.max(...deliveries.map(({ attempts }) => attempts)),
  };
}

/** Delivers one job's events first: workers limit the deliveries in flight to an endpoint until some have succeeded. */
export async function warmUp(fixture: FaultFixture): Promise<void> {
  await fixture.addJobs(1, "assigned");
  fixture.notifyWorkers();
  await waitUntilDelivered(fixture.database);
}

/** Resolves when no delivery is pending. Tolerates short database outages. */
async function waitUntilDelivered(database: Database): Promise<void> {
  await eventually(
    async () => {
      const [remaining] = await database.query<{ pending: number; leased: number }>(sql`
      select count(*)::int as pending, count(lease_token)::int as leased from webhook_delivery where status = 'pending'`);
      expect(remaining).toEqual({ pending: 0, leased: 0 });
    },
    { timeoutMs: TIMEOUT_MS },
  );
}

interface EventRow {
  id: string;
  job_id: string;
  sequence: number;
  /** Endpoints that should get the event, by the job's organisations and the subscribed types. */
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

const isAddressedTo = (event: EventRow, endpointId: string): boolean => event.endpoints.includes(endpointId);

async function versionsOf(database: Database): Promise<Map<string, number>> {
  const rows = await database.query<{ id: string; version: number }>(sql`select id, version from job`);
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/** Expects the events of each job to have the sequences 1, 2, 3 and so on, one per version. */
function checkSequences(events: readonly EventRow[], versions: ReadonlyMap<string, number>): void {
  const byJob = Map.groupBy(events, ({ job_id: id }) => id);
  for (const [jobId, version] of versions) {
    const sequences = (byJob.get(jobId) ?? []).map(({ sequence }) => sequence).toSorted((a, b) => a - b);
    expect(sequences).toEqual(Array.from({ length: version }, (_, index) => index + 1));
  }
}

const webhookIdOf = ({ headers }: ReceivedRequest): string => String(headers["webhook-id"]);

/** Expects exactly the expected events, signed, with their sequence, and with equal bodies in all attempts. */
function checkRequests(endpoint: FaultEndpoint, expected: readonly EventRow[]): void {
  const requests = endpoint.received();
  const byId = Map.groupBy(requests, webhookIdOf);
  expect([...byId.keys()].toSorted()).toEqual(expected.map(({ id }) => toTypedId("evt", id)).toSorted());
  const mismatches = expected.filter(({ id, sequence }) => {
    const [first = "{}", ...others] = new Set((byId.get(toTypedId("evt", id)) ?? []).map(({ body }) => body));
    const body = JSON.parse(first) as { id: string; data: { sequence: number } };
    return others.length > 0 || body.id !== toTypedId("evt", id) || body.data.sequence !== sequence;
  });
  expect(mismatches).toEqual([]);
  expect(requests.filter((request) => !isSignedInTime(request, endpoint.secret))).toEqual([]);
}

/** True if the request was signed at most 300 s from when it was received. */
function isSignedInTime(request: ReceivedRequest, secret: string): boolean {
  const ageMs = request.atMs - Number(request.headers["webhook-timestamp"]) * 1_000;
  return Math.abs(ageMs) <= 300_000 && isSigned(secret, request);
}

interface DeliveryRow {
  endpoint_id: string;
  event_id: string;
  status: string;
  attempts: number;
  outcome: string;
  is_leased: boolean;
  is_finished: boolean;
  /** Numbers of the recorded attempts, in order. */
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

interface RecordedDeliveries {
  endpoint: FaultEndpoint;
  expected: readonly EventRow[];
  deliveries: readonly DeliveryRow[];
  tolerances: DeliveryTolerances;
}

/** Expects one finished and correctly recorded delivery per event. Returns the number of duplicate requests. */
function checkRecords({ endpoint, expected, deliveries, tolerances }: RecordedDeliveries): number {
  const delivered = deliveries.map((row) => row.event_id);
  expect(delivered.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
  const requests = Map.groupBy(endpoint.received(), webhookIdOf);
  const rows = deliveries.map((row) => ({
    ...row,
    sent: requests.get(toTypedId("evt", row.event_id))?.length ?? 0,
  }));
  // One assertion for all rows: one per row would be slow for thousands.
  expect(rows.filter((row) => !isFinished(row))).toEqual([]);
  if (!tolerances.allowsLostRecords) expect(rows.filter((row) => !isWellRecorded(row))).toEqual([]);
  return rows.reduce((sum, { sent, outcomes }) => sum + sent - 1 - countFailures(outcomes), 0);
}

function isFinished({ status, outcome, is_finished: isEnded, is_leased: isLeased }: DeliveryRow): boolean {
  return status === "delivered" && outcome === "delivered" && isEnded && !isLeased;
}

/** True if each attempt is recorded at most once and no request was sent without being counted first. */
function isWellRecorded({ sent, numbers, outcomes, attempts }: DeliveryRow & { sent: number }): boolean {
  const isRecorded = new Set(numbers).size === numbers.length && outcomes.includes("delivered");
  const isCounted = numbers.every((number) => number >= 1 && number <= attempts) && sent <= attempts;
  return isRecorded && isCounted && sent >= numbers.length;
}

function countFailures(outcomes: readonly string[]): number {
  return outcomes.filter((outcome) => outcome !== "delivered").length;
}

/** Expires all delivery leases and task locks, so that tests need not wait half a minute. Returns the number of leases. */
export async function expireLeases({
  database,
  mongoUrl,
}: Pick<FaultFixture, "database" | "mongoUrl">): Promise<number> {
  await using client = new MongoClient(mongoUrl);
  const tasks = client.db().collection(TASKS_COLLECTION);
  await tasks.updateMany({ lockedAt: { $ne: null } }, { $set: { lockedAt: new Date(0) } });
  // PostgreSQL finishes the last statement of a killed worker. A claim that commits later would have a new lease.
  const runningClaims = sql`select from pg_stat_activity
    where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
      and query like '%update webhook_delivery set%'`;
  await eventually(async () => expect(await database.query(runningClaims)).toEqual([]));
  // Retries if a row was moved to another partition while the statement waited for it.
  const rows = await queryWithRetry(
    database,
    sql`update webhook_delivery set due_at = clock_timestamp() - interval '1 s'
      where status = 'pending' and lease_token is not null and due_at > clock_timestamp() returning 1`,
  );
  return rows.length;
}
