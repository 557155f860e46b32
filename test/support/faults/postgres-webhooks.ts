/** Helpers of the PostgreSQL fault tests: an API and a worker under load, and limits on duplicate deliveries. */
import { expect } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { expireLeases } from "./delivery-checks.ts";
import { eventually, sumMetric, startChangeLoad } from "./change-load.ts";
import { patchWeight, type FaultFixture } from "./webhook.fixture.ts";

/** Starts an API and a worker that use the database at `url`, with three endpoints and a load of changes. */
export async function startApiAndWorker(fixture: FaultFixture, url: string) {
  await fixture.addEndpoint();
  await fixture.addEndpoint({ maxInFlight: 1 });
  await fixture.addEndpoint({ owner: fixture.contractor });
  const numbers = await fixture.addJobs(6, "assigned");
  const [api, worker] = await Promise.all([
    fixture.startServer("api", { DATABASE_URL: url }),
    fixture.startServer("worker", { DATABASE_URL: url }),
  ]);
  const load = startChangeLoad(numbers, (number, weight) => patchWeight(api, fixture.agent, number, weight));
  return { api, worker, load };
}

/** Returns the maximum number of webhook requests in flight, over all endpoints. */
export function totalMaxInFlight({ endpoints }: Pick<FaultFixture, "endpoints">): number {
  return endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
}

/**
 * Returns the maximum number of duplicate requests if PostgreSQL crashed between these times. Workers commit asynchronously,
 * so a crash can lose the records of requests sent since the last job change, whose synchronous commit also made all earlier
 * records durable. Requests in flight at either end count too.
 */
export async function countPossibleDuplicates(
  fixture: FaultFixture,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Promise<number> {
  const [row] = await fixture.database.query<{ at_ms: number }>(sql`
    select floor(extract(epoch from max(occurred_at)) * 1000)::float8 as at_ms from job_event
    where occurred_at < to_timestamp(${fromMs / 1000})`);
  const durableUntilMs = row?.at_ms ?? 0;
  const sent = fixture.receiver.received.filter(({ atMs }) => atMs >= durableUntilMs && atMs <= untilMs);
  return sent.length + 2 * totalMaxInFlight(fixture);
}

/**
 * If the response to a claim is lost, its deliveries stay leased until the lease expires. Waits until the worker has no
 * requests in flight, then expires these leases and returns their number.
 */
export async function expireLostLeases(fixture: FaultFixture, worker: ServerProcess): Promise<number> {
  const inFlight = (): Promise<number> => sumMetric(worker, "waymark_webhook_deliveries_in_flight");
  await eventually(async () => expect(await inFlight()).toBe(0));
  return expireLeases(fixture);
}
