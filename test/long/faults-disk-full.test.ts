/** PostgreSQL's disk fills up while traffic runs, that of its tables or that of its log: nothing that was told is lost. */
import { execFile } from "node:child_process";
import { readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { cleanUp, makeFolder, query } from "../support/embedded-processes.ts";
import { openOwnPostgres, type OwnPostgres } from "../support/fault-postgres.ts";
import { changes, reads, startTraffic } from "../support/fault-traffic.ts";
import { canMount, mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, readiness } from "../support/webhook-faults.load.ts";
import { sentInDoubt } from "../support/webhook-faults.postgres.ts";
import { openFaultWorld } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 300_000 });

/** Only root may mount a small disk. */
const mayMount = await canMount();
const MEGABYTES = 96;

async function openTraffic(databaseUrl: string) {
  const world = await openFaultWorld({ databaseUrl });
  await world.addEndpoint();
  await world.addEndpoint({ owner: world.contractor });
  const numbers = await world.addJobs(5, "assigned");
  const server = await world.start("all", { DATABASE_URL: databaseUrl });
  const traffic = await startTraffic(world, server, numbers);
  await traffic.succeeds();
  return { world, server, traffic };
}

// evidence: postgres-disk-full-tables
it.skipIf(!mayMount)(
  "full of tables: changes are refused, reads are answered, and both go on when there is room",
  async () => {
    const { databaseUrl, disk } = await openOnSmallTables();
    const { world, server, traffic } = await openTraffic(databaseUrl);
    await disk.fill();
    await traffic.isRefused(5, changes);
    await traffic.succeeds(5, reads);
    expect(await readiness(server)).toBe(200);
    await disk.clear();
    await traffic.succeeds();
    await traffic.check();
    await checkDelivered(world, { duplicates: 0 });
  },
);

// evidence: postgres-disk-full-wal
it.skipIf(!mayMount)(
  "full of its log: PostgreSQL goes down, callers are refused, and all is well when there is room",
  async () => {
    const { postgres, disk } = await openOnSmallLog();
    const { world, server, traffic } = await openTraffic(await postgres.newDatabase());
    const beforeMs = Date.now();
    await disk.fill();
    const fromMs = await useUpLog(postgres, beforeMs);
    await traffic.isRefused();
    expect(await readiness(server)).toBe(503);
    await disk.clear();
    const untilMs = Date.now();
    await traffic.succeeds();
    await traffic.check();
    // It may have gone down more than once while there was no room, and not after.
    const duplicates = await sentInDoubt(world, { fromMs, untilMs });
    await checkDelivered(world, { duplicates, mayHaveForgotten: true });
    await eventually(async () => expect(await readiness(server)).toBe(200));
    expect(await readFile(join(postgres.dataDir, "postgres.log"), "utf8")).toMatch(/PANIC.*No space left/);
  },
);

/** A database whose tables lie on a small disk, and nothing else does. */
async function openOnSmallTables(): Promise<{ databaseUrl: string; disk: SmallDisk }> {
  const postgres = await openOwnPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  const disk = await mountIn(postgres.dataDir, "tables");
  const databaseUrl = await postgres.newDatabase();
  const name = new URL(databaseUrl).pathname.slice(1);
  await query(postgres.url, `create tablespace small location '${join(postgres.dataDir, "tables")}'`);
  await query(postgres.url, `alter database ${name} set tablespace small`);
  return { databaseUrl, disk };
}

/** A PostgreSQL whose log lies on a small disk, and nothing else does. */
async function openOnSmallLog(): Promise<{ postgres: OwnPostgres; disk: SmallDisk }> {
  onTestFinished(cleanUp);
  const dataDir = await makeFolder();
  const made = await openEmbeddedPostgres({ dataDir, exclusive: true });
  await made[Symbol.asyncDispose]();
  const disk = await mountIn(dataDir, "log");
  const [log, place] = [join(dataDir, "postgres", "pg_wal"), join(dataDir, "log")];
  await promisify(execFile)("cp", ["-a", `${log}/.`, place]);
  await rm(log, { recursive: true });
  await symlink(place, log);
  const postgres = await openOwnPostgres(["-c", "max_wal_size=48MB"], dataDir);
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  return { postgres, disk };
}

async function mountIn(dataDir: string, name: string): Promise<SmallDisk> {
  const disk = await mountSmallDisk(join(dataDir, name), MEGABYTES, join(dataDir, "postgres"));
  onTestFinished(() => disk[Symbol.asyncDispose]());
  return disk;
}

/** Begins one file of the log after the other, until there is none to begin. Answers with when it was up for the last time. */
async function useUpLog({ url }: OwnPostgres, upMs: number): Promise<number> {
  let lastUpMs = upMs;
  await eventually(async () => {
    const askedMs = Date.now();
    const wentOn = await query(url, "select pg_logical_emit_message(true, '', ''), pg_switch_wal()").catch(
      () => null,
    );
    if (wentOn !== null) lastUpMs = askedMs;
    expect(wentOn).toBeNull();
  });
  return lastUpMs;
}
