/**
 * `npm run bench:neighbours`: the latency of one partner alone, and while three others send all that their limits allow: overlapping
 * batches, updates whose receivers hang, large bodies, and test resets. Options: --jobs=N --seconds=30 (of each measurement)
 * --rounds=3 --share=0.3 (of their limits) --write (into docs/engineering). Exits with 1 if the p99 is more than twice that of the
 * partner alone.
 */
import { parseArgs } from "node:util";
import pg from "pg";
import { BODY_BYTES_PER_TOKEN } from "../../src/api/graphql/execution/limits.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { findMongodBinary } from "../../src/dev/mongo/binary.ts";
import { defaultRateLimits } from "../../src/rate-limits/rate-limit.ts";
import { startCluster } from "../cluster/cluster.ts";
import { startSink } from "../deliveries/processes.ts";
import { mongodSources, onProgress } from "../environment.ts";
import { NUMBER_PLACEHOLDER, type LoadRequest, type SentRequest } from "../load.ts";
import { shuffled } from "../random.ts";
import { formatNumber, formatTable, publish } from "../report.ts";
import { issueKeys, seed } from "../seed.ts";
import { startLoadGenerator } from "../servers.ts";
import { median, percentile } from "../statistics.ts";
import { times } from "../workload.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "100000" },
    seconds: { type: "string", default: "30" },
    rounds: { type: "string", default: "3" },
    share: { type: "string", default: "1" },
    write: { type: "boolean", default: false },
  },
});
const [jobs, seconds, rounds] = [Number(options.jobs), Number(options.seconds), Number(options.rounds)];
const NEIGHBOURS = 3;
const JOBS_EACH = 500;
/** Requests a second of the measured partner: half lists of 10, half updates. */
const RATE = 20;
const MAX_RATIO = 2;
/** The neighbours begin this long before a measurement. */
const LEAD_SECONDS = 3;
const BATCH_ITEMS = 100;
const LARGE_BODY_BYTES = 200_000;
/** The load generator repeats a neighbour's requests after this time, with other numbers in the updates. */
const PATTERN_SECONDS = 5;

interface Partner {
  key: string;
  testKey: string;
  numbers: readonly string[];
}

await using cluster = await startCluster({
  mongodBinary: await findMongodBinary(mongodSources, onProgress, new AbortController().signal),
  apis: 1,
  workers: 1,
  publicUrl: "http://127.0.0.1:4000",
  onProgress,
});
const url = cluster.apis[0]?.url ?? "";
const [measured, ...others] = (await createPartners()) as [Partner, ...Partner[]];
await using sink = await startSink();
for (const { key } of others) {
  const { status } = await fetch(`${url}/v1/webhook-endpoints`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ url: `${sink.url}/hang/` }),
  });
  if (status !== 201) throw new Error(`An endpoint was refused with ${status}`);
}
await using ownLoad = startLoadGenerator();
await using neighbourLoad = startLoadGenerator();

async function createPartners(): Promise<Partner[]> {
  const client = new pg.Client({ connectionString: cluster.databaseUrl });
  await client.connect();
  await seed(client, jobs);
  await client.query("vacuum analyze");
  const agents = (await issueKeys(client)).filter(({ type }) => type === "agent").slice(0, NEIGHBOURS + 1);
  const partners: Partner[] = [];
  for (const { id, key } of agents) {
    const { rows } = await client.query<{ marking_number: string }>(
      "select marking_number from job where agent_id = $1 order by id limit $2",
      [id, JOBS_EACH],
    );
    const command = ["key", "create", "--test", "--json", "--org", toTypedId("org", id)];
    const output = await cluster.run(`key-${partners.length}`, ...command);
    const { key: testKey } = JSON.parse(output) as { key: string };
    partners.push({ key, testKey, numbers: rows.map((row) => row.marking_number) });
  }
  await client.end();
  return partners;
}

const INSTRUCTIONS = `Ring ${NUMBER_PLACEHOLDER} times`;

function updateOf({ key, numbers }: Partner, at: number): LoadRequest {
  const path = `/v1/jobs/by-marking/${encodeURIComponent(numbers[at % numbers.length] ?? "")}`;
  return { method: "PATCH", path, key, body: JSON.stringify({ instructions: INSTRUCTIONS }), kind: "update" };
}

const repeat = (perSecond: number, make: (at: number) => LoadRequest): LoadRequest[] =>
  times(Math.round(perSecond * PATTERN_SECONDS), make);

const post = (kind: string, key: string, path: string, body: object): LoadRequest => ({
  method: "POST",
  path,
  key,
  body: JSON.stringify(body),
  kind,
});

/** Returns the requests of a neighbour in `PATTERN_SECONDS`, as often as its limits allow. */
function neighbourRequests(partner: Partner): LoadRequest[] {
  const { key, testKey, numbers } = partner;
  // The same jobs each time, so that batches wait for each other.
  const items = numbers
    .slice(0, BATCH_ITEMS)
    .map((number) => ({ marking_number: number, instructions: INSTRUCTIONS }));
  const largeBody = { query: `{ viewer { mode } } # ${"x".repeat(LARGE_BODY_BYTES)}` };
  const tokens = 1 + Math.floor(LARGE_BODY_BYTES / BODY_BYTES_PER_TOKEN);
  return [
    ...repeat(defaultRateLimits.batch.perSecond, () => ({
      ...post("batch", key, "/v1/jobs/batch", { jobs: items }),
      method: "PATCH",
    })),
    ...repeat(defaultRateLimits.write.perSecond, (at) => updateOf(partner, at)),
    ...repeat(defaultRateLimits.read.perSecond / tokens, () =>
      post("large body", key, "/graphql", largeBody),
    ),
    // Creates test jobs, so that there is something to delete.
    ...repeat(1, () => post("test jobs", testKey, "/v1/test/jobs", { count: BATCH_ITEMS })),
    ...repeat(1, () => post("test reset", testKey, "/v1/test/reset", {})),
  ];
}

interface Latency {
  p50Ms: number;
  p99Ms: number;
  failed: number;
}

async function measure(): Promise<Latency> {
  const requests = times(RATE * seconds, (at) =>
    at % 2 === 0
      ? updateOf(measured, at)
      : { method: "GET", path: "/v1/jobs?page_size=10", key: measured.key },
  );
  const phase = { name: "measured", connections: 64, seconds, rate: RATE };
  const sent = await ownLoad.run({ url, requests, phases: [phase] });
  const latenciesMs = sent.map(({ dueMs, answeredMs }) => answeredMs - dueMs);
  const failed = sent.filter(({ status }) => status !== 200).length;
  return { p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99), failed };
}

async function measureWithNeighbours(): Promise<{ latency: Latency; answers: readonly SentRequest[] }> {
  const requests = shuffled(others.flatMap(neighbourRequests));
  const rate = (requests.length / PATTERN_SECONDS) * Number(options.share);
  const phase = { name: "neighbours", connections: 256, seconds: seconds + LEAD_SECONDS, rate };
  const answers = neighbourLoad.run({ url, requests, phases: [phase] });
  answers.catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, LEAD_SECONDS * 1_000));
  return { latency: await measure(), answers: await answers };
}

const formatLatency = ({ p50Ms, p99Ms }: Latency): string =>
  `${formatNumber(p50Ms)} / ${formatNumber(p99Ms)}`;

/** Formats the counts of each kind by status. */
function formatAnswers(answers: readonly SentRequest[]): string {
  const groups = Map.groupBy(answers, ({ kind, status }) => `${kind} ${status}`);
  return [...groups].map(([name, all]) => `${name}: ${all.length}`).join("; ");
}

await measure();
const rows = [
  [
    "round",
    "alone: p50 / p99 ms",
    "with the others: p50 / p99 ms",
    "p99 ratio",
    "failed",
    "answers to the others",
  ],
];
const ratios: number[] = [];
for (let round = 1; round <= rounds; round += 1) {
  const alone = await measure();
  const { latency, answers } = await measureWithNeighbours();
  const ratio = latency.p99Ms / alone.p99Ms;
  ratios.push(ratio);
  rows.push([
    String(round),
    formatLatency(alone),
    formatLatency(latency),
    formatNumber(ratio),
    String(alone.failed + latency.failed),
    formatAnswers(answers),
  ]);
  onProgress(rows.at(-1)?.join(" | ") ?? "");
}
const verdict = `Median ratio: ${formatNumber(median(ratios))}; at most ${MAX_RATIO} is right.`;
const details = [`${jobs.toLocaleString("en")} jobs`, `${seconds} s per measurement`];
await publish("neighbours", details, `${formatTable(rows)}\n\n${verdict}`, options.write);
if (median(ratios) > MAX_RATIO) process.exitCode = 1;
