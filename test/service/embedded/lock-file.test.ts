import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { acquireLock } from "../../../src/embedded/lock-file.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-lock-"));
  path = join(folder, "some.lock");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Writes the lock file of a process with this ID. */
const writeLockFile = (pid: number): Promise<void> => writeFile(path, `${pid} ${path}.of-${pid}-0000`);

it("admits one caller at a time within a process, and leaves no files behind", async () => {
  let [holders, maxHolders] = [0, 0];
  const workOnce = async (): Promise<boolean> => {
    const release = await acquireLock(path);
    if (release === null) return false;
    holders += 1;
    maxHolders = Math.max(maxHolders, holders);
    await setImmediate();
    holders -= 1;
    await release();
    return true;
  };
  const caller = async (): Promise<void> => {
    for (let done = 0; done < 40; await setImmediate()) if (await workOnce()) done += 1;
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  expect(maxHolders).toBe(1);
  expect(await readdir(folder)).toEqual([]);
});

it("refuses while a running process holds the lock, and succeeds once it was killed", async () => {
  const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await once(other, "spawn");
  await writeLockFile(other.pid as number);
  expect(await acquireLock(path)).toBeNull();
  expect(await acquireLock(path)).toBeNull();

  other.kill("SIGKILL");
  await once(other, "exit");
  // The first attempt removes the abandoned file, the second gets the lock.
  expect(await acquireLock(path)).toBeNull();
  const release = await acquireLock(path);
  expect(release).not.toBeNull();
  await release?.();
});

it("ignores the lock of a killed process whose ID is now ours, as after a container restart", async () => {
  await writeLockFile(process.pid);
  expect(await acquireLock(path)).toBeNull();
  const release = await acquireLock(path);
  expect(release).not.toBeNull();
  await release?.();
});
