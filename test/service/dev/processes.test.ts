import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { isRunning, readCommandLine } from "../../../src/dev/processes.ts";

/** Higher than any possible PID. */
const NONEXISTENT_PID = 2 ** 30;

it("tells a running process from an ended one", async () => {
  expect(await isRunning(process.pid)).toBe(true);
  expect(await readCommandLine(process.pid)).toContain("node");
  expect(await isRunning(NONEXISTENT_PID)).toBe(false);
  expect(await readCommandLine(NONEXISTENT_PID)).toBe("");
});

// Otherwise a running database server would count as killed, and a second one would start on its files.
it("takes no process for an ended one while no file descriptor is free", async () => {
  const module = new URL("../../../src/dev/processes.ts", import.meta.url).href;
  const program = `import { isRunning, readCommandLine } from ${JSON.stringify(module)};
    import { closeSync, openSync } from "node:fs";
    const files = [];
    try { for (;;) files.push(openSync("/dev/null")); } catch {}
    const running = await isRunning(process.pid);
    const error = await readCommandLine(process.pid).catch(({ code }) => code);
    for (const file of files) closeSync(file);
    console.log(JSON.stringify({ running, error }));`;
  const limited = [
    "-c",
    'ulimit -n 64 && exec "$0" "$@"',
    process.execPath,
    "--input-type=module",
    "-e",
    program,
  ];
  const { stdout } = await promisify(execFile)("sh", limited);
  expect(JSON.parse(stdout)).toEqual({ running: true, error: "EMFILE" });
});
