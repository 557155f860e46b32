/**
 * `npm run bench:cluster [-- --port 4000] [--apis 2] [--workers 2]`: runs the services of docker-compose.yml on this machine, with
 * the demo, until Ctrl-C. The environment may set the variables of FORWARDED_SETTINGS.
 */
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { findMongodBinary } from "../../src/embedded/mongo/binary.ts";
import { startCluster, type Cluster } from "./cluster.ts";

/** Variables that are passed on to every Waymark process. */
const FORWARDED_SETTINGS = [
  "LOG_LEVEL",
  "SHUTDOWN_DRAIN_DELAY",
  "WEBHOOK_RETRY_SCHEDULE",
  "RATE_LIMITS",
  "DATABASE_POOL_SIZE",
];

const POLL_INTERVAL_MS = 500;

const printStatus = (text: string): void => void process.stderr.write(`${text}\n`);

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "4000" },
    apis: { type: "string", default: "2" },
    workers: { type: "string", default: "2" },
  },
});
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stopping.abort());

const { mongo, cacheDir } = toConfig(readEnv());
const mongodBinary = await findMongodBinary({ ...mongo, cacheDir }, printStatus, stopping.signal);
await using cluster = await startCluster({
  mongodBinary,
  port: Number(values.port),
  apis: Number(values.apis),
  workers: Number(values.workers),
  env: Object.fromEntries(
    FORWARDED_SETTINGS.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  ),
  onProgress: printStatus,
});
printStatus(await cluster.run("demo", "demo"));
printStatus(summary(cluster));
await keepRunning(cluster);
printStatus("Stopping: requests in flight are answered first.");

/** Restarts ended processes, like `restart: unless-stopped`. */
async function keepRunning({ apis, workers }: Cluster): Promise<void> {
  while (!stopping.signal.aborted) {
    for (const member of [...apis, ...workers].filter((one) => one.pid() === 0)) {
      printStatus(`${member.name} has ended; starting it again.`);
      await member.start().catch((error: unknown) => printStatus(String(error)));
    }
    await pause(POLL_INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
  }
}

function summary({ url, apis: fronts, workers: backs, folder }: Cluster): string {
  const members = [...fronts, ...backs].map(
    (member) => `  ${member.name.padEnd(10)} ${member.url}  (process ${member.pid()})`,
  );
  return [
    `  balancer   ${url}   (console, /v1, /graphql, /docs)`,
    ...members,
    `  logs       ${folder}`,
    "",
    "  Ctrl-C stops everything and deletes the folder. A process that gets SIGTERM drains, ends and is started again.",
    "",
  ].join("\n");
}
