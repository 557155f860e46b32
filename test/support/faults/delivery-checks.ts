/** What holds of webhooks whatever was killed: each committed event arrived everywhere it should, and nothing else did. */
import { MongoClient } from "mongodb";
import { expect } from "vitest";
import type { Database } from "../../../src/platform/postgres/database.ts";
import { toTypedId } from "../../../src/platform/ids.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { TASKS_COLLECTION } from "../../../src/scheduling/task-document.ts";
import { queryWithRetry } from "../../../src/webhooks/deliveries/discard.ts";
import { verify } from "../../../src/webhooks/signing/signature.ts";
import { eventually } from "./change-load.ts";
import type { FaultEndpoint, FaultFixture } from "./webhook.fixture.ts";
import type { ReceivedRequest } from "../webhooks/receiver.ts";

export interface DeliveryTotals {
  events: number;
  deliveries: number;
  /** Requests beyond the one that each delivery needs and those that are on record as failed. */
  duplicates: number;
  /** The largest number of attempts of a delivery. */
  maxAttempts: number;
}

export interface DeliveryTolerances {
  duplicates: number;
  /** PostgreSQL crashed: it may have forgotten that something was sent, with its attempt and its count. */
  allowsLostRecords?: boolean;
  /** Our clock was wrong: a receiver that goes by its own would have refused what was signed meanwhile. */
  hadWrongClock?: boolean;
}

/** A lease and a lock of the scheduler may have to run out one after the other, and then the sweep comes. */
const TIMEOUT_MS = 90_000;

/** Waits until nothing is left to deliver, then holds everything against the events. No more came twice than `limits` allow. */
export async function verifyDeliveries(
  world: FaultFixture,
  tolerances: DeliveryTolerances,
): Promise<DeliveryTotals> {
  await waitUntilDelivered(world.database);
  const events = await eventsOf(world.database);
  checkSequences(events, await versionsOf(world.database));
  const deliveries = await deliveriesOf(world.database);
  const perEndpoint = world.endpoints.map((endpoint) => {
    const expected = events.filter((event) => isAddressedTo(event, endpoint.id));
    const own = deliveries.filter(({ endpoint_id: id }) => id === endpoint.id);
    checkRequests(endpoint, expected, tolerances);
    return checkRecords({ endpoint, expected, deliveries: own, limits: tolerances });
  });
  const duplicates = perEndpoint.reduce((sum, count) => sum + count, 0);
  expect(duplicates).toBeLessThanOrEqual(tolerances.duplicates);
  return {
    events: events.length,
    deliveries: deliveries.length,
    duplicates,
    maxAttempts: Math.max(...deliveries.map(({ attempts }) => attempts)),
  };
}

/** A worker has few deliveries of an endpoint on their way until that has taken some: afterwards each has. */
export async function warmUp(world: FaultFixture): Promise<void> {
  await world.addJobs(1, "assigned");
  world.notifyWorkers();
  await waitUntilDelivered(world.database);
}

/** Resolves once nothing waits or is on its way, in a database that may be away for a moment. */
async function waitUntilDelivered(database: Database): Promise<void> {
  await eventually(async () => {
    const [left] = await database.query<{ pending: number; leased: number }>(sql`
      select count(*)::int as pending, count(lease_token)::int as leased from webhook_delivery where status = 'pending'`);
    expect(left).toEqual({ pending: 0, leased: 0 });
  }, TIMEOUT_MS);
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

const isAddressedTo = (event: EventRow, endpointId: string): boolean => event.endpoints.includes(endpointId);

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

const webhookIdOf = ({ headers }: ReceivedRequest): string => String(headers["webhook-id"]);

/** What came to the endpoint: every event and no other, signed, the same each time, with the sequence of its event. */
function checkRequests(
  endpoint: FaultEndpoint,
  expected: readonly EventRow[],
  limits: DeliveryTolerances,
): void {
  const requests = endpoint.received();
  const byId = Map.groupBy(requests, webhookIdOf);
  expect([...byId.keys()].toSorted()).toEqual(expected.map(({ id }) => toTypedId("evt", id)).toSorted());
  const wrong = expected.filter(({ id, sequence }) => {
    const [first = "{}", ...others] = new Set((byId.get(toTypedId("evt", id)) ?? []).map(({ body }) => body));
    const body = JSON.parse(first) as { id: string; data: { sequence: number } };
    return others.length > 0 || body.id !== toTypedId("evt", id) || body.data.sequence !== sequence;
  });
  expect(wrong).toEqual([]);
  const received = limits.hadWrongClock ? requests.map(atSigningTime) : requests;
  expect(received.filter((request) => !isSigned(request, endpoint.secrets))).toEqual([]);
}

function atSigningTime(request: ReceivedRequest): ReceivedRequest {
  return { ...request, atMs: Number(request.headers["webhook-timestamp"]) * 1_000 };
}

/** Whether one of these made a signature of it that was good when it came. */
export function isSigned({ headers, body, atMs }: ReceivedRequest, secrets: readonly string[]): boolean {
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

interface RecordedDeliveries {
  endpoint: FaultEndpoint;
  expected: readonly EventRow[];
  deliveries: readonly DeliveryRow[];
  limits: DeliveryTolerances;
}

/** One delivery for each event, with its records; answers with how many requests came twice. */
function checkRecords({ endpoint, expected, deliveries, limits }: RecordedDeliveries): number {
  const delivered = deliveries.map((row) => row.event_id);
  expect(delivered.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
  const requests = Map.groupBy(endpoint.received(), webhookIdOf);
  const rows = deliveries.map((row) => ({
    ...row,
    sent: requests.get(toTypedId("evt", row.event_id))?.length ?? 0,
  }));
  // All in one assertion: there are thousands, and the machine may be slow.
  expect(rows.filter((row) => !isFinished(row))).toEqual([]);
  if (!limits.allowsLostRecords) expect(rows.filter((row) => !isWellRecorded(row))).toEqual([]);
  return rows.reduce((sum, { sent, outcomes }) => sum + sent - 1 - countFailures(outcomes), 0);
}

function isFinished({ status, outcome, is_finished: isEnded, is_leased: isLeased }: DeliveryRow): boolean {
  return status === "delivered" && outcome === "delivered" && isEnded && !isLeased;
}

/** Each attempt recorded at most once, and none sent that was not counted when it began. */
function isWellRecorded({ sent, numbers, outcomes, attempts }: DeliveryRow & { sent: number }): boolean {
  const isRecorded = new Set(numbers).size === numbers.length && outcomes.includes("delivered");
  const isCounted = numbers.every((number) => number >= 1 && number <= attempts) && sent <= attempts;
  return isRecorded && isCounted && sent >= numbers.length;
}

function countFailures(outcomes: readonly string[]): number {
  return outcomes.filter((outcome) => outcome !== "delivered").length;
}

/** The outcomes on record of what was sent to the endpoint, oldest first. */
export async function listAttemptOutcomes(
  { database }: FaultFixture,
  { id }: FaultEndpoint,
): Promise<string[]> {
  const rows = await database.query<{ outcome: string }>(sql`
    select attempt.outcome from webhook_attempt attempt join webhook_delivery delivery on delivery.id = delivery_id
    where endpoint_id = ${id} order by attempt.id`);
  return rows.map(({ outcome }) => outcome);
}

/**
 * As if half a minute had passed: what is leased to somebody is anybody's, and so is what the scheduler's jobs are locked
 * for. Answers with how many leases ran out by that.
 */
export async function expireLeases({
  database,
  mongoUrl,
}: Pick<FaultFixture, "database" | "mongoUrl">): Promise<number> {
  await using client = new MongoClient(mongoUrl);
  const jobs = client.db().collection(TASKS_COLLECTION);
  await jobs.updateMany({ lockedAt: { $ne: null } }, { $set: { lockedAt: new Date(0) } });
  // PostgreSQL ends the last statement of one that was killed, and what that claims would have a whole lease before it.
  const runningClaims = sql`select from pg_stat_activity
    where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
      and query like '%update webhook_delivery set%'`;
  await eventually(async () => expect(await database.query(runningClaims)).toEqual([]));
  // It tries again where a row that it waited for was moved to the log meanwhile.
  const rows = await queryWithRetry(
    database,
    sql`update webhook_delivery set due_at = clock_timestamp() - interval '1 s'
      where status = 'pending' and lease_token is not null and due_at > clock_timestamp() returning 1`,
  );
  return rows.length;
}
