/** The long scripts of package.json, each started as a user would, as small as its options let it be: they run from a clean clone. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { waitForExit } from "../support/processes/cli-process.ts";

const PATIENCE_MS = 300_000;
vi.setConfig({ testTimeout: PATIENCE_MS + 10_000 });

const cwd = resolve(import.meta.dirname, "../..");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-scripts-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What it printed on standard output, having ended with 0. */
async function outputOf(script: string, options: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(script, options);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

function run(script: string, options: readonly string[]): ReturnType<typeof waitForExit> {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  const env = { PATH, HOME, XDG_CACHE_HOME, BENCH_DATA_DIR: folder };
  const command = ["run", script, "--", ...options];
  return waitForExit(spawn("npm", command, { cwd, env, timeout: PATIENCE_MS }));
}

/** Rows stand in a table once they were measured: what comes behind the name holds figures that are more than nothing. */
function expectMeasured(text: string, names: readonly string[]): void {
  const rows = text.split("\n");
  for (const name of names) {
    const row = rows.findLast((line) => line.startsWith(`| ${name} | `)) ?? "";
    expect(row.slice(name.length + 4), `the row of ${name} in ${text}`).toMatch(/[1-9]/);
  }
}

// The same few jobs for all of them: who comes first makes them.
const JOBS = "--jobs=2000";

describe("npm run bench", () => {
  it("measures a row of the API", async () => {
    const text = await outputOf("bench", [JOBS, "--rounds=1", "--only=batch"]);
    expectMeasured(text, ["PATCH batch of 100"]);
  });

  it("measures a row of GraphQL", async () => {
    const text = await outputOf("bench", [JOBS, "--rounds=1", "--only=updates"]);
    expectMeasured(text, ["GraphQL, updateJobs of 100; b: Waymark's PATCH batch of 100"]);
  });

  it("measures deliveries", async () => {
    const options = ["--deliveries=500", "--rounds=1", "--only=backlog", "--engines=bare-loop"];
    const text = await outputOf("bench", options);
    expectMeasured(text, ["Waymark", "bare loop of signed POSTs"]);
  });
});

it("npm run bench:overload measures what is answered when too much is asked", async () => {
  const text = await outputOf("bench:overload", [JOBS, "--seconds=1", "--only=lists"]);
  expectMeasured(text, ["lists | 30 %", "lists | 300 %", "lists | 30 % again"]);
});

it("npm run bench:traces measures a server that keeps traces", async () => {
  const text = await outputOf("bench:traces", [JOBS, "--rounds=1"]);
  expectMeasured(text, ["0 % | update of one job", "1 % | update of one job", "100 % | update of one job"]);
});

it("npm run bench:replicas measures lists that a standby answers", async () => {
  const text = await outputOf("bench:replicas", [JOBS, "--rounds=1", "--requests=50", "--only=list10"]);
  expectMeasured(text, ["REST list of 10, all filters"]);
});

it("npm run growth measures one size", async () => {
  // As many jobs as it delivers messages: the smallest size that there is.
  const text = await outputOf("growth", ["--sizes=10000", "--rounds=1"]);
  expectMeasured(text, ["list of 10, mixed filters", "PATCH one", "delivery, of a backlog of 10,000"]);
});

it("npm run growth refuses a size with fewer jobs than it delivers messages of", async () => {
  const { code, stderr } = await run("growth", ["--sizes=10000,9999"]);
  expect(code).toBe(1);
  expect(stderr).toContain("--sizes=10000,9999 must be numbers of jobs from 10000");
});

it("npm run soak finds that everything held", async () => {
  const text = await outputOf("soak", ["--minutes=0.5", "--load=0.3"]);
  expectMeasured(text, ["api-1", "worker-2", "healthy"]);
});

it("npm run simulate measures what one of each costs, and computes a fleet from it", async () => {
  const text = await outputOf("simulate", ["--jobs=2000", "--seconds=2", "--warm-up=1", "--rates=50,100"]);
  expectMeasured(text, [
    "list of 10",
    "retry of a delivery",
    "deliveries, changes, lists per second",
  ]);
});
