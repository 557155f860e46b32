import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { acquireLock } from "../../../src/dev/lock.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-lock-"));
  path = join(folder, "some.lock");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a module with `acquireLock` and the lock's path as `path`, and returns the process. */
function runWithLock(script: string): ChildProcess {
  const module = new URL("../../../src/dev/lock.ts", import.meta.url).href;
  const program = `import { acquireLock } from ${JSON.stringify(module)};
    import fs from "node:fs";
    const path = ${JSON.stringify(path)};
    ${script}`;
  const args = ["--input-type=module", "-e", program];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

it("admits one process at a time", async () => {
  const counter = join(folder, "counter");
  await writeFile(counter, "0");
  const increments = `for (let done = 0; done < 50; ) {
      const release = acquireLock(path, "command");
      if (typeof release !== "function") continue;
      const count = Number(fs.readFileSync(${JSON.stringify(counter)}, "utf8"));
      fs.writeFileSync(${JSON.stringify(counter)}, String(count + 1));
      release();
      done += 1;
    }`;
  const processes = Array.from({ length: 4 }, () => runWithLock(increments));
  await Promise.all(processes.map((child) => once(child, "exit")));
  expect(await readFile(counter, "utf8")).toBe("200");
});

it.each(["service", "command"] as const)(
  "returns the current owner while a %s holds the lock, and succeeds as soon as it was killed",
  async (owner) => {
    // A lock without a reference to its function is released when Node collects its garbage.
    const other = runWithLock(
      `globalThis.release = acquireLock(path, "${owner}"); console.log("locked"); setInterval(() => {}, 1000);`,
    );
    await once(other.stdout as NodeJS.ReadableStream, "data");
    expect(acquireLock(path, "service")).toBe(owner);
    expect(acquireLock(path, "command")).toBe(owner);

    other.kill("SIGKILL");
    await once(other, "exit");
    const release = acquireLock(path, "service");
    expect(release).toBeTypeOf("function");
    expect(acquireLock(path, "command")).toBe("service");
    if (typeof release === "function") release();
  },
);

it("names the file if it cannot be used", async () => {
  await writeFile(path, "this is not an empty SQLite database, whose first page it reads");
  expect(() => acquireLock(path, "service")).toThrow(`Waymark cannot use ${path}`);
  expect(() => acquireLock(join(folder, "missing", "some.lock"), "service")).toThrow("Waymark cannot use");
});
