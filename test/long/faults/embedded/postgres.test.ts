import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { openEmbeddedPostgres } from "../../../../src/embedded/postgres/embedded-postgres.ts";
import { readPostmasterPid } from "../../../../src/embedded/postgres/postmaster-pid.ts";
import {
  stopAndRemoveAll,
  INSERT_NOTE_SQL,
  makeFolder,
  NONEXISTENT_PID,
  postmasterPid,
  query,
  SELECT_NOTES_SQL,
  removeSharedFolder,
  startHolder,
  waitUntilProcessEnds,
  sharedFolder,
} from "../../../support/processes/embedded-processes.ts";
import { eventuallyTruthy } from "../../../support/eventually.ts";

const isRoot = process.getuid?.() === 0;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
afterEach(stopAndRemoveAll);
afterAll(removeSharedFolder);

describe("opening the embedded PostgreSQL", () => {
  it("creates a cluster on first use and keeps its data for the next start", async () => {
    const dataDir = await makeFolder();
    const progress: string[] = [];
    {
      await using first = await openEmbeddedPostgres({
        dataDir,
        exclusive: true,
        onProgress: (text) => progress.push(text),
      });
      await query(first.url, INSERT_NOTE_SQL);
    }
    await using second = await openEmbeddedPostgres({
      dataDir,
      exclusive: true,
      onProgress: (text) => progress.push(text),
    });
    expect(await query(second.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
    expect(progress).toEqual([`Creating a PostgreSQL cluster in ${dataDir}/postgres.`]);
  });

  it("serves two processes that open a new folder at the same time", async () => {
    const dataDir = await makeFolder();
    const [one, other] = await Promise.all([
      startHolder(dataDir, "shared"),
      startHolder(dataDir, "exclusive"),
    ]);
    expect(one.url).not.toBe("");
    expect(other.url).toBe(one.url);
    await query(one.url, INSERT_NOTE_SQL);
    expect(await query(other.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
    expect((await readdir(dataDir)).filter((name) => name.includes(".of-"))).toEqual([]);
  });

  it("sorts by code point and changes the case of non-ASCII letters", async () => {
    const dataDir = await sharedFolder();
    await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: false });
    const [row] = await query(
      postgres.url,
      "select lower('ÅÉΣ') as lower, 'é' > 'z' as by_code_point, 'É' ilike 'é' as ilike",
    );
    expect(row).toEqual({ lower: "åéσ", by_code_point: true, ilike: true });
  });

  it("logs no values of a failed statement", async () => {
    const dataDir = await sharedFolder();
    await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
    await query(
      postgres.url,
      "create table if not exists person (email text primary key); insert into person values ('ada@example.org')",
    );
    await expect(query(postgres.url, "insert into person values ('ada@example.org')")).rejects.toThrow(
      "duplicate key",
    );
    const log = await readFile(join(dataDir, "postgres.log"), "utf8");
    expect(log).toContain("23505 ERROR");
    expect(log).not.toContain("ada@example.org");
  });

  it("removes the partial cluster of a killed process", async () => {
    const dataDir = await makeFolder();
    const ended = spawn("true");
    await once(ended, "exit");
    await mkdir(join(dataDir, `postgres.of-${ended.pid}-abc1`, "postgres"), { recursive: true });
    await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(postgres.url).toContain("/waymark");
    expect((await readdir(dataDir)).toSorted()).toEqual([
      "postgres",
      "postgres-password",
      expect.stringMatching(`^postgres-reference-exclusive-${process.pid}-`),
      "postgres-start.lock",
      "postgres.log",
    ]);
  });

  it.runIf(isRoot)("works for root in a folder that other users cannot access", async () => {
    const closed = await makeFolder();
    await chmod(closed, 0o700);
    const dataDir = join(closed, "data");
    await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect((await stat(closed)).mode & 0o777).toBe(0o700);
  });
});

describe("sharing the embedded PostgreSQL", () => {
  it("refuses a second server on the same folder and names the first", async () => {
    const dataDir = await sharedFolder();
    const first = await startHolder(dataDir, "exclusive");
    const second = await startHolder(dataDir, "exclusive");
    expect(second.line.error).toEqual({
      name: "StartupError",
      message: `The data folder ${dataDir} is already in use by another Waymark server (process ${first.pid}).`,
      hint: "Stop that server first, or set WAYMARK_DATA_DIR to another folder.",
    });
    expect(await query(first.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("keeps running for the server when a command ends", async () => {
    const dataDir = await sharedFolder();
    const server = await startHolder(dataDir, "exclusive");
    const command = await startHolder(dataDir, "shared");
    expect(command.url).toBe(server.url);
    await command.release();
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("stops with the last process that uses it, even a command", async () => {
    const dataDir = await sharedFolder();
    const server = await startHolder(dataDir, "exclusive");
    const command = await startHolder(dataDir, "shared");
    const postmaster = await postmasterPid(dataDir);
    await server.release();
    expect(await query(command.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await command.release();
    await waitUntilProcessEnds(postmaster);
    await expect(postmasterPid(dataDir)).rejects.toThrow("ENOENT");
  });

  it.for(["SIGINT", "SIGTERM", "SIGQUIT", "SIGKILL"] as const)(
    "is started again for a waiting process if it gets %s while starting",
    async (signal) => {
      const dataDir = await sharedFolder();
      await (await startHolder(dataDir, "shared")).release();
      const opening = openEmbeddedPostgres({ dataDir, exclusive: true });
      const starting = eventuallyTruthy(
        async () => (await readPostmasterPid(join(dataDir, "postgres")))?.pid ?? 0,
        { intervalMs: 1 },
      );
      process.kill(await Promise.race([starting, opening.then(() => NONEXISTENT_PID)]), signal);
      await using postgres = await opening;
      expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
    },
  );

  it("serves a process that opens it while the last one closes it", async () => {
    const dataDir = await sharedFolder();
    const openAndClose = async (): Promise<void> => {
      for (let round = 0; round < 6; round += 1) {
        await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: false });
        expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
      }
    };
    await Promise.all([openAndClose(), openAndClose(), openAndClose()]);
    await expect(postmasterPid(dataDir)).rejects.toThrow("ENOENT");
  });

  it("starts a separate PostgreSQL for the copy of a folder in use", async () => {
    const [dataDir, copy] = [await sharedFolder(), join(await makeFolder(), "copy")];
    await using original = await openEmbeddedPostgres({ dataDir, exclusive: true });
    await query(original.url, `${INSERT_NOTE_SQL}; checkpoint`);
    await promisify(execFile)("cp", ["-pR", dataDir, copy]);
    await using copied = await openEmbeddedPostgres({ dataDir: copy, exclusive: true });
    await query(copied.url, "delete from note");
    expect(await query(original.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
  });
});
