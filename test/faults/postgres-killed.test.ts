/** PostgreSQL is killed under traffic: requests get a response or 503, and confirmed changes are neither lost nor applied twice. */
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import {
  openDedicatedPostgres,
  openTrafficFixture,
  type DedicatedPostgres,
  countPossibleDuplicates,
  expireLostLeases,
} from "../support/faults/postgres.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { readinessStatus } from "../support/faults/change-load.ts";
import { eventually } from "../support/eventually.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import type { ServerProcess } from "../support/processes/server-process.ts";
import { openFaultFixture, type FaultFixture } from "../support/faults/webhook.fixture.ts";

const BATCHES = 60;
const WRITERS = 24;
/** Until then the repeat of an interrupted batch may get 409 or 503. Long, for busy machines. */
const REPEAT_TIMEOUT_MS = 20_000;

interface BatchAnswer {
  status: number;
  replayed: boolean;
  data: unknown;
}

/**
 * Kills the server, then PostgreSQL. Returns the numbers of the batches that were not applied exactly once. Fails if a repeat is
 * too slow, or if its response differs from the first one.
 */
async function killDuringIdempotentBatches(postgres: DedicatedPostgres): Promise<number[]> {
  const fixture = await openFaultFixture({ databaseUrl: await postgres.newDatabase() });
  const numbers = await fixture.addJobs(WRITERS);
  let server = await fixture.startServer("api");
  const send = (index: number): Promise<BatchAnswer> =>
    sendBatch(server, fixture.agent.key, { index, markingNumber: numbers[index % WRITERS] as string });

  const answers = new Map<number, BatchAnswer>();
  const untilReady = shareWait(async () => expect(await readinessStatus(server)).toBe(200));
  let started = 0;
  const writing = runWriters(async (index) => {
    started += 1;
    // A refused connection has sent nothing, so the batch is sent again.
    while (!(await send(index).then((answer) => answers.set(index, answer), isSent))) await untilReady();
    if (answers.get(index)?.status !== 200) await untilReady();
  });
  // More than the writers, so that some batches were answered and others are in flight.
  await waitUntilStarted(WRITERS + 12);
  await server.kill("SIGKILL");
  server = await fixture.startServer("api");
  await waitUntilStarted(WRITERS + 24);
  await postgres.kill();
  await writing;
  await server.waitUntilReady();

  const interrupted = BATCHES - [...answers.values()].filter(({ status }) => status === 200).length;
  expect(interrupted).toBeGreaterThan(0);
  await runWriters(async (index) => {
    const repeat = await eventually(
      async () => {
        const answer = await send(index);
        expect(answer.status).toBe(200);
        return answer;
      },
      { timeoutMs: REPEAT_TIMEOUT_MS },
    );
    const first = answers.get(index);
    const isStored = first?.status === 200;
    expect(repeat).toMatchObject(isStored ? { ...first, replayed: true } : {});
  });
  return await findBatchesNotAppliedOnce(fixture);

  function waitUntilStarted(count: number): Promise<void> {
    return eventually(() => expect(started).toBeGreaterThanOrEqual(count), { intervalMs: 1 });
  }
}

/** Sends two changes of one job. Applied twice, the batch would create four versions. */
async function sendBatch(
  { url }: Pick<ServerProcess, "url">,
  apiKey: string,
  { index, markingNumber }: { index: number; markingNumber: string },
): Promise<BatchAnswer> {
  const jobs = weightsOf(index).map((weight) => ({ marking_number: markingNumber, weight }));
  const response = await fetch(`${url}/v1/jobs/batch`, {
    method: "PATCH",
    headers: { "x-api-key": apiKey, "content-type": "application/json", "idempotency-key": `batch-${index}` },
    body: JSON.stringify({ jobs }),
  });
  const { data } = (await response.json()) as { data: unknown };
  const replayed = response.headers.get("idempotency-replayed") === "true";
  return { status: response.status, replayed, data };
}

const weightsOf = (index: number): number[] => [2 * index + 1, 2 * index + 2];

/** False if the connection was refused. Interrupted requests may have been applied and are repeated later. */
function isSent(error: unknown): boolean {
  return (error as { cause?: { code?: string } }).cause?.code !== "ECONNREFUSED";
}

/** Returns a function that waits until `poll` succeeds. Its concurrent calls share one wait: 24 would slow the server down. */
function shareWait(poll: () => Promise<unknown>): () => Promise<unknown> {
  let wait: Promise<unknown> | undefined;
  return () => (wait ??= eventually(poll).finally(() => (wait = undefined)));
}

/** Calls `write` for each batch, 24 at a time. */
async function runWriters(write: (index: number) => Promise<unknown>): Promise<void> {
  const indexes = Array.from({ length: BATCHES }, (_, index) => index).values();
  const writer = async (): Promise<void> => {
    for (const index of indexes) await write(index);
  };
  const done = Promise.all(Array.from({ length: WRITERS }, writer));
  onTestFinished(async () => void (await done.catch(() => undefined)));
  await done;
}

/** A batch applied exactly once has two events, in order. */
async function findBatchesNotAppliedOnce({ database }: FaultFixture): Promise<number[]> {
  const events = await database.query<{ batch: number; weights: number[] }>(sql`
    select floor((weight - 1) / 2) as batch, json_agg(weight order by sequence) as weights
    from (
      select (changes #>> '{weight,to}')::float8 as weight, sequence from job_event where changes ? 'weight') change
    group by batch`);
  const weights = new Map(events.map(({ batch, weights: applied }) => [batch, applied.join()]));
  return Array.from({ length: BATCHES }, (_, index) => index).filter(
    (index) => weights.get(index) !== weightsOf(index).join(),
  );
}

let postgres: DedicatedPostgres;
beforeAll(async () => {
  postgres = await openDedicatedPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

// evidence: postgres-killed-recovers
it("returns 503 while PostgreSQL is killed, and delivers every confirmed change", async () => {
  const { fixture, server, traffic } = await openTrafficFixture(await postgres.newDatabase());
  const fromMs = Date.now();
  await Promise.all([postgres.kill(), traffic.waitForRejections()]);
  const untilMs = Date.now();
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  await expireLostLeases(fixture, server);
  const duplicates = await countPossibleDuplicates(fixture, { fromMs, untilMs });
  await verifyDeliveries(fixture, { duplicates, allowsLostRecords: true });
  expect(await readinessStatus(server)).toBe(200);
});

// evidence: idempotency-killed-processes
it("applies every keyed batch once and repeats its response, although server and PostgreSQL are killed", async () => {
  expect(await killDuringIdempotentBatches(postgres)).toEqual([]);
});
