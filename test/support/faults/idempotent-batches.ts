/** Writers that send batches with an Idempotency-Key each while the server and PostgreSQL are killed, then repeat every batch. */
import { expect, onTestFinished } from "vitest";
import { sql } from "../../../src/platform/postgres/sql.ts";
import type { DedicatedPostgres } from "./postgres.fixture.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { eventually, readinessStatus } from "./change-load.ts";
import { openFaultFixture, type FaultFixture } from "./webhook.fixture.ts";

export interface IdempotentBatchOptions {
  batches: number;
  /** How often each of the two is killed. */
  kills: number;
}

const WRITERS = 24;
/** A batch whose request was interrupted is answered within this time, once the server is ready again. */
const REPEAT_TIMEOUT_MS = 2_000;

interface BatchAnswer {
  status: number;
  replayed: boolean;
  data: unknown;
}

/**
 * Returns the numbers of the batches that were not applied exactly once. Fails if a repeat gets another answer than its first
 * request, or none in time.
 */
export async function killDuringIdempotentBatches(
  postgres: DedicatedPostgres,
  { batches, kills }: IdempotentBatchOptions,
): Promise<number[]> {
  const fixture = await openFaultFixture({ databaseUrl: await postgres.newDatabase() });
  const numbers = await fixture.addJobs(WRITERS);
  let server = await fixture.startServer("api");
  const url = (): string => server.url;
  const send = (at: number): Promise<BatchAnswer> =>
    sendBatch({ url: url() }, fixture.agent.key, { at, markingNumber: numbers[at % WRITERS] as string });

  const answers = new Map<number, BatchAnswer>();
  const writing = startWriters(batches, async (at) => {
    await eventually(() => send(at).then((answer) => answers.set(at, answer), rethrowIfNotSent));
    if (answers.get(at)?.status !== 200)
      await eventually(async () => expect(await readinessStatus(server)).toBe(200));
  });
  for (let kill = 1; kill <= 2 * kills; kill += 1) {
    await writing.waitUntilStarted(Math.floor((batches * kill) / (2 * kills + 1)));
    if (kill % 2 === 0) await postgres.kill();
    else server = await killAndRestart(fixture, server);
  }
  await writing.done;
  await server.waitUntilReady();

  const interrupted = batches - [...answers.values()].filter(({ status }) => status === 200).length;
  expect(interrupted).toBeGreaterThan(0);
  await startWriters(batches, async (at) => {
    const repeat = await eventually(async () => {
      const answer = await send(at);
      expect(answer.status).toBe(200);
      return answer;
    }, REPEAT_TIMEOUT_MS);
    const first = answers.get(at);
    if (first?.status === 200) expect(repeat).toEqual({ ...first, replayed: true });
  }).done;
  return await findBatchesNotAppliedOnce(fixture, batches);
}

async function killAndRestart(world: FaultFixture, server: ServerProcess): Promise<ServerProcess> {
  await server.kill("SIGKILL");
  return await world.startServer("api");
}

/** Two changes of one job: applied a second time it would make two more versions. */
async function sendBatch(
  { url }: Pick<ServerProcess, "url">,
  apiKey: string,
  { at, markingNumber }: { at: number; markingNumber: string },
): Promise<BatchAnswer> {
  const jobs = weightsOf(at).map((weight) => ({ marking_number: markingNumber, weight }));
  const response = await fetch(`${url}/v1/jobs/batch`, {
    method: "PATCH",
    headers: { "x-api-key": apiKey, "content-type": "application/json", "idempotency-key": `batch-${at}` },
    body: JSON.stringify({ jobs }),
  });
  const { data } = (await response.json()) as { data: unknown };
  const replayed = response.headers.get("idempotency-replayed") === "true";
  return { status: response.status, replayed, data };
}

const weightsOf = (index: number): number[] => [2 * index + 1, 2 * index + 2];

/** A request that found no server is sent again; one that was cut off may have been applied, and is only repeated later. */
function rethrowIfNotSent(error: unknown): void {
  if ((error as { cause?: { code?: string } }).cause?.code === "ECONNREFUSED") throw error;
}

interface BatchWriters {
  readonly done: Promise<unknown>;
  /** Resolves once that many have begun. */
  waitUntilStarted(count: number): Promise<void>;
}

/** Calls `write` for 0 to `count - 1`, for 24 of them at a time. */
function startWriters(count: number, write: (at: number) => Promise<unknown>): BatchWriters {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await write(next - 1);
    }
  };
  const done = Promise.all(Array.from({ length: WRITERS }, writer));
  onTestFinished(() =>
    done.then(
      () => undefined,
      () => undefined,
    ),
  );
  return {
    done,
    waitUntilStarted: (enough) => eventually(() => expect(next).toBeGreaterThanOrEqual(enough)),
  };
}

/** Each batch applied once is two events, in order. */
async function findBatchesNotAppliedOnce({ database }: FaultFixture, batches: number): Promise<number[]> {
  const events = await database.query<{ batch: number; weights: number[] }>(sql`
    select floor((weight - 1) / 2) as batch, json_agg(weight order by sequence) as weights
    from (
      select (changes #>> '{weight,to}')::float8 as weight, sequence from job_event where changes ? 'weight') change
    group by batch`);
  const weights = new Map(events.map(({ batch, weights: applied }) => [batch, applied.join()]));
  return Array.from({ length: batches }, (_, at) => at).filter(
    (at) => weights.get(at) !== weightsOf(at).join(),
  );
}
