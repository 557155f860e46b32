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
  folder = await mkdtemp(join(tmpdir(), "waymark-claim-"));
  path = join(folder, "some.claim");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** What has it, as a process of this number would have left it. */
const writeLockFile = (pid: number): Promise<void> => writeFile(path, `${pid} ${path}.of-${pid}-0000`);

it("one part of a process has it at a time, however many want it, and what they do leaves nothing behind", async () => {
  let [inside, most] = [0, 0];
  const workOnce = async (): Promise<boolean> => {
    const giveBack = await acquireLock(path);
    if (giveBack === null) return false;
    inside += 1;
    most = Math.max(most, inside);
    await setImmediate();
    inside -= 1;
    await giveBack();
    return true;
  };
  const part = async (): Promise<void> => {
    for (let done = 0; done < 40; await setImmediate()) if (await workOnce()) done += 1;
  };
  await Promise.all(Array.from({ length: 8 }, part));
  expect(most).toBe(1);
  expect(await readdir(folder)).toEqual([]);
});

it("a living process keeps it, and a killed one does not", async () => {
  const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await once(other, "spawn");
  await writeLockFile(other.pid as number);
  expect(await acquireLock(path)).toBeNull();
  expect(await acquireLock(path)).toBeNull();

  other.kill("SIGKILL");
  await once(other, "exit");
  // The first look finds it abandoned, the next has it.
  expect(await acquireLock(path)).toBeNull();
  const giveBack = await acquireLock(path);
  expect(giveBack).not.toBeNull();
  await giveBack?.();
});

it("a killed process's does not count either where its number is now ours, as after a container's restart", async () => {
  await writeLockFile(process.pid);
  expect(await acquireLock(path)).toBeNull();
  const giveBack = await acquireLock(path);
  expect(giveBack).not.toBeNull();
  await giveBack?.();
});
