/**
 * `npm run bench:neighbours`: the latency of one partner alone, and while three others send all that their limits allow: overlapping
 * batches, updates whose receivers hang, large bodies, and test resets. Options: --jobs=N --seconds=30 (of each measurement)
 * --rounds=3 --write (into docs/engineering). Exits with 1 if the p99 is more than twice that of the partner alone.
 */
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { Agent, request } from "undici";
import { findMongodBinary } from "../../src/dev/mongo/binary.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { startCluster } from "../cluster/cluster.ts";
import { exponentialGapMs } from "../random.ts";
import { reportHeading, writeReport } from "../report.ts";
import { issueKeys, rebuildJobCounters, seed } from "../seed.ts";
import { endProcess, startProcess } from "../servers.ts";
import type { PartnersCommand, PartnersReport } from "./partners.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "100000" },
    seconds: { type: "string", default: "30" },
    rounds: { type: "string", default: "3" },
    write: { type: "boolean", default: false },
  },
});
const [jobs, seconds, rounds] = [Number(options.jobs), Number(options.seconds), Number(options.rounds)];
const NEIGHBOURS = 3;
const JOBS_EACH = 500;
/** Requests a second of the measured partner: half lists of 10, half updates. */
const RATE = 20;
const MAX_RATIO = 2;

const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);

const cacheHome = process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "", ".cache");
const mongodBinary = await findMongodBinary(
  { binary: process.env["MONGOD_BINARY"] ?? null, cacheDir: join(cacheHome, "waymark"), download: "any" },
  onProgress,
  new AbortController().signal,
);
await using cluster = await startCluster({ mongodBinary, apis: 1, workers: 1, onProgress });
const client = new pg.Client({ connectionString: cluster.databaseUrl });
await client.connect();
await seed(client, jobs, () => undefined);
await rebuildJobCounters(client);
await client.query("vacuum analyze");
const organizations = (await issueKeys(client))
  .filter(({ type }) => type === "agent")
  .slice(0, NEIGHBOURS + 1);
const numbers: string[][] = [];
for (const { id } of organizations) {
  const { rows } = await client.query<{ marking_number: string }>(
    "select marking_number from job where agent_id = $1 order by id limit $2",
    [id, JOBS_EACH],
  );
  numbers.push(rows.map((row) => row.marking_number));
}
await client.end();
const testKeys = await Promise.all(
  organizations.slice(1).map(async ({ id }, index) => {
    const output = await cluster.run(
      `key-${index}`,
      "key",
      "create",
      "--test",
      "--json",
      "--org",
      toTypedId("org", id),
    );
    return (JSON.parse(output) as { key: string }).key;
  }),
);
const [measured, ...others] = organizations;
const [measuredNumbers = [], ...otherNumbers] = numbers;
const url = cluster.apis[0]?.url ?? "";
const dispatcher = new Agent({ connections: null });

interface Latency {
  p50: number;
  p99: number;
  failed: number;
}

/** Sends requests at the times of a Poisson process, whether or not earlier ones are answered. */
async function measure(): Promise<Latency> {
  const latenciesMs: number[] = [];
  let failed = 0;
  const sendOne = async (at: number): Promise<void> => {
    const number = encodeURIComponent(measuredNumbers[at % measuredNumbers.length] ?? "");
    const isUpdate = at % 2 === 0;
    const sentMs = performance.now();
    const { statusCode, body } = await request(
      `${url}/v1/jobs${isUpdate ? `/by-marking/${number}` : "?page_size=10"}`,
      {
        method: isUpdate ? "PATCH" : "GET",
        headers: { "x-api-key": measured?.key ?? "", "content-type": "application/json" },
        ...(isUpdate && { body: JSON.stringify({ instructions: `Ring ${at} times` }) }),
        dispatcher,
      },
    );
    const tt = await body.text();
    if (statusCode !== 200)
      console.error(statusCode, tt.slice(60, 200), isUpdate, Math.round(performance.now() - sentMs));
    latenciesMs.push(performance.now() - sentMs);
    if (statusCode !== 200) failed += 1;
  };
  const untilMs = performance.now() + seconds * 1_000;
  const sent: Promise<void>[] = [];
  while (performance.now() < untilMs) {
    sent.push(sendOne(sent.length));
    await pause(exponentialGapMs(RATE));
  }
  await Promise.all(sent);
  latenciesMs.sort((one, other) => one - other);
  const at = (share: number): number => latenciesMs[Math.floor(latenciesMs.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), failed };
}

async function measureWithNeighbours(): Promise<{ latency: Latency; report: PartnersReport }> {
  const partners = startProcess("neighbours/partners.ts", {}, []);
  partners.send({
    url,
    numbers: otherNumbers,
    keys: others.map(({ key }) => key),
    testKeys,
  } satisfies PartnersCommand);
  await once(partners, "message");
  await pause(3_000);
  const latency = await measure();
  partners.send("stop");
  const [report] = (await once(partners, "message")) as [PartnersReport];
  await endProcess(partners);
  return { latency, report };
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
const formatMs = (ms: number): string => ms.toFixed(1);

await measure();
const lines = [
  "| round | alone: p50 / p99 ms | with the others: p50 / p99 ms | p99 ratio | failed | answers to the others |",
  "|---|---|---|---|---|---|",
];
const ratios: number[] = [];
for (let round = 1; round <= rounds; round += 1) {
  const alone = await measure();
  const { latency, report } = await measureWithNeighbours();
  const ratio = latency.p99 / alone.p99;
  ratios.push(ratio);
  const answers = Object.entries(report).map(([kind, counts]) => `${kind}: ${JSON.stringify(counts)}`);
  lines.push(
    `| ${round} | ${formatMs(alone.p50)} / ${formatMs(alone.p99)} | ${formatMs(latency.p50)} / ${formatMs(latency.p99)} | ${ratio.toFixed(2)} | ${alone.failed + latency.failed} | ${answers.join("; ")} |`,
  );
  onProgress(lines.at(-1) ?? "");
}
const heading = reportHeading(`${jobs.toLocaleString("en")} jobs`, `${seconds} s per measurement`);
const verdict = `Median ratio: ${median(ratios).toFixed(2)}; at most ${MAX_RATIO} is right.`;
const text = `${lines.join("\n")}\n\n${verdict}`;
console.log(`\n${heading}\n\n${text}`);
if (options.write) await writeReport("neighbours", heading, text);
if (median(ratios) > MAX_RATIO) process.exitCode = 1;
