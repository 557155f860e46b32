/** PostgreSQL's disk fills up under traffic, with table data or WAL: no confirmed change is lost. */
import { execFile } from "node:child_process";
import { readFile, rm, symlink, chown, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../src/dev/postgres/embedded-postgres.ts";
import { stopAndRemoveAll, makeFolder, query } from "../support/processes/embedded-processes.ts";
import {
  openDedicatedPostgres,
  openTrafficFixture,
  type DedicatedPostgres,
  countPossibleDuplicates,
} from "../support/faults/postgres.fixture.ts";
import { changeKinds, readKinds } from "../support/faults/traffic.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { readinessStatus } from "../support/faults/change-load.ts";
import { eventually } from "../support/eventually.ts";

const run = promisify(execFile);

/** True on Linux as root, if tmpfs can be mounted. Tests that need a small disk are skipped elsewhere. */
async function canMount(): Promise<boolean> {
  const folder = `/tmp/waymark-mount-${process.pid}`;
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    await using _ = await mountSmallDisk(folder, 1);
    return true;
  } catch {
    return false;
  }
}

interface SmallDisk extends AsyncDisposable {
  /** Uses up all free space. */
  fill(): Promise<void>;
  /** Frees the space used by `fill`. */
  clear(): Promise<void>;
}

/** Mounts a tmpfs at `folder`, owned by the owner of `like`. */
async function mountSmallDisk(folder: string, megabytes: number, like = "/tmp"): Promise<SmallDisk> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", folder]);
  const { uid, gid } = await stat(like);
  await chown(folder, uid, gid);
  const ballast = join(folder, "ballast");
  return {
    async fill() {
      // Larger than the free space: the part that fits is written before the error.
      await writeFile(ballast, Buffer.alloc(megabytes * 1024 * 1024)).catch(() => undefined);
    },
    clear: () => rm(ballast, { force: true }),
    async [Symbol.asyncDispose]() {
      // Unmount even if a process has a file open.
      await run("umount", ["--lazy", folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

vi.setConfig({ testTimeout: 300_000 });

/** Mounting a small disk requires root. */
const mayMount = await canMount();
const MEGABYTES = 96;

// evidence: postgres-disk-full-tables
it.skipIf(!mayMount)(
  "rejects changes and serves reads while the table disk is full, and recovers when there is space",
  async () => {
    const { databaseUrl, disk } = await openOnSmallTables();
    const { fixture, server, traffic } = await openTrafficFixture(databaseUrl);
    await disk.fill();
    await traffic.waitForRejections(5, changeKinds);
    await traffic.waitForSuccesses(5, readKinds);
    expect(await readinessStatus(server)).toBe(200);
    await disk.clear();
    await traffic.waitForSuccesses();
    await traffic.stopAndVerify();
    await verifyDeliveries(fixture, { duplicates: 0 });
  },
);

// evidence: postgres-disk-full-wal
it.skipIf(!mayMount)(
  "returns 503 while the WAL disk is full and PostgreSQL is down, and recovers when there is space",
  async () => {
    const { postgres, disk } = await openOnSmallLog();
    const { fixture, server, traffic } = await openTrafficFixture(await postgres.newDatabase());
    const beforeMs = Date.now();
    await disk.fill();
    const fromMs = await fillLog(postgres, beforeMs);
    await traffic.waitForRejections();
    expect(await readinessStatus(server)).toBe(503);
    await disk.clear();
    const untilMs = Date.now();
    await traffic.waitForSuccesses();
    await traffic.stopAndVerify();
    // PostgreSQL may crash several times while the disk is full, but not after there is space.
    const duplicates = await countPossibleDuplicates(fixture, { fromMs, untilMs });
    await verifyDeliveries(fixture, { duplicates, allowsLostRecords: true });
    await eventually(async () => expect(await readinessStatus(server)).toBe(200));
    expect(await readFile(join(postgres.dataDir, "postgres.log"), "utf8")).toMatch(/PANIC.*No space left/);
  },
);

/** Creates a database with its tables on a separate small disk. */
async function openOnSmallTables(): Promise<{ databaseUrl: string; disk: SmallDisk }> {
  const postgres = await openDedicatedPostgres();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  const disk = await mountDataDisk(postgres.dataDir, "tables");
  const databaseUrl = await postgres.newDatabase();
  const name = new URL(databaseUrl).pathname.slice(1);
  await query(postgres.url, `create tablespace small location '${join(postgres.dataDir, "tables")}'`);
  await query(postgres.url, `alter database ${name} set tablespace small`);
  return { databaseUrl, disk };
}

/** Starts a PostgreSQL with its WAL on a separate small disk. */
async function openOnSmallLog(): Promise<{ postgres: DedicatedPostgres; disk: SmallDisk }> {
  onTestFinished(stopAndRemoveAll);
  const dataDir = await makeFolder();
  const created = await openEmbeddedPostgres({ dataDir, exclusive: true });
  await created[Symbol.asyncDispose]();
  const disk = await mountDataDisk(dataDir, "log");
  const [log, place] = [join(dataDir, "postgres", "pg_wal"), join(dataDir, "log")];
  await promisify(execFile)("cp", ["-a", `${log}/.`, place]);
  await rm(log, { recursive: true });
  await symlink(place, log);
  const postgres = await openDedicatedPostgres(["-c", "max_wal_size=48MB"], dataDir);
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  return { postgres, disk };
}

async function mountDataDisk(dataDir: string, name: string): Promise<SmallDisk> {
  const disk = await mountSmallDisk(join(dataDir, name), MEGABYTES, join(dataDir, "postgres"));
  onTestFinished(() => disk[Symbol.asyncDispose]());
  return disk;
}

/** Switches WAL files until the disk is full, and returns when PostgreSQL last responded. */
async function fillLog({ url }: DedicatedPostgres, upMs: number): Promise<number> {
  let lastUpMs = upMs;
  await eventually(async () => {
    const queriedAtMs = Date.now();
    const result = await query(url, "select pg_logical_emit_message(true, '', ''), pg_switch_wal()").catch(
      () => null,
    );
    if (result !== null) lastUpMs = queriedAtMs;
    expect(result).toBeNull();
  });
  return lastUpMs;
}
