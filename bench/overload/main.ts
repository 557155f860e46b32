/**
 * `npm run bench:overload`: responses and latency at three times the server's capacity.
 * Options: --jobs=N --fresh --seconds=60 (of overload) --only=lists,mixed --write (into docs/engineering). Exits with 1
 * if a budget is missed.
 */
import { parseArgs } from "node:util";
import { openPostgres } from "../database.ts";
import { onProgress } from "../environment.ts";
import { formatTable, publish } from "../report.ts";
import { openJobs } from "../seed.ts";
import { measureOverload, pinToCore } from "./measure.ts";
import { findBrokenPromises, formatLiveness, formatOverload, formatVerdict, HEADINGS } from "./tables.ts";
import { createTraffic, mixtures, type Mixture } from "./traffic.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000000" },
    fresh: { type: "boolean", default: false },
    seconds: { type: "string", default: "60" },
    only: { type: "string" },
    write: { type: "boolean", default: false },
  },
});

const [jobs, seconds] = [Number(options.jobs), Number(options.seconds)];
/** In a shorter run one slow request decides the p99. */
const isJudged = seconds >= 20;
const rows: string[][] = [HEADINGS];
const notes: string[] = [];
const broken: string[] = [];
await using postgres = await openPostgres();
await using database = await openJobs(postgres, { jobs, fresh: options.fresh });
pinToCore("server", postgres.pid);
const traffic = await createTraffic(database);
for (const mixture of (options.only?.split(",") ?? mixtures) as Mixture[]) {
  onProgress(mixture);
  const measured = await measureOverload({ databaseUrl: database.url, requests: traffic[mixture], seconds });
  rows.push(...formatOverload(mixture, measured));
  notes.push(formatLiveness(mixture, measured));
  broken.push(...findBrokenPromises(mixture, measured));
}
const verdict = isJudged ? formatVerdict(broken) : "Too short to judge.";
const details = [`${jobs.toLocaleString("en")} jobs`, `${seconds} s of overload`];
await publish(
  "overload",
  details,
  [formatTable(rows), notes.join("\n"), verdict].join("\n\n"),
  options.write,
);
if (isJudged && broken.length > 0) process.exitCode = 1;
