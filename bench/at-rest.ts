/**
 * `node bench/at-rest.ts [seconds]`: the cost of `npm start` with the demo while no client calls it, one minute after its start.
 * Prints the CPU of each process in percent of one core, and SQL statements and MongoDB commands per second.
 */
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient } from "mongodb";
import pg from "pg";
import { openEmbeddedPostgres } from "../src/dev/postgres/embedded-postgres.ts";
import { dataFolder } from "./environment.ts";
import { processCpuUs, processTreeCpuUs } from "./process-usage.ts";
import { startProduct } from "./startup-cost.ts";

const seconds = Number(process.argv[2] ?? 120);
const dataDir = join(dataFolder, "at-rest");
const mongoUrl = `mongodb://${encodeURIComponent(join(dataDir, "mongo/mongod.sock"))}/?directConnection=true`;
await rm(dataDir, { recursive: true, force: true });
// The second start loads the extension that counts statements.
const demo = await startProduct(dataDir);
await query("alter system set shared_preload_libraries = 'pg_stat_statements'");
await query("create extension pg_stat_statements");
await demo[Symbol.asyncDispose]();
await using product = await startProduct(dataDir);
await pause(60_000);
// MongoDB may start after the product is ready.
const [postgresPid = 0, mongodPid = 0] = ["postgres/postmaster.pid", "mongo/mongod.lock"].map((file) =>
  Number.parseInt(readFileSync(join(dataDir, file), "utf8"), 10),
);
const before = await readCounters();
await pause(seconds * 1000);
for (const [name, value] of Object.entries(await readCounters()))
  console.log(`${name}: ${((value - (before[name] ?? 0)) / seconds).toFixed(2)}`);

async function readCounters(): Promise<Record<string, number>> {
  const [calls] = await query("select sum(calls) as statements from pg_stat_statements");
  const mongo = new MongoClient(mongoUrl);
  const { opcounters } = await mongo.db("admin").command({ serverStatus: 1 });
  await mongo.close();
  return {
    "Node, % of a core": processCpuUs(product.pid) / 1e4,
    "mongod, % of a core": processCpuUs(mongodPid) / 1e4,
    "PostgreSQL, % of a core": processTreeCpuUs(postgresPid) / 1e4,
    "SQL statements per second": Number(calls?.statements),
    "MongoDB commands per second": Object.values(opcounters as Record<string, number>).reduce(
      (sum, count) => sum + count,
      0,
    ),
  };
}

async function query(statement: string) {
  const { url } = await openEmbeddedPostgres({ dataDir, exclusive: false });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ statements: string }>(statement);
  await client.end();
  return rows;
}
