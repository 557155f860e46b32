/** Runs the long scripts of package.json from a clean clone, with their smallest options. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { installPeers } from "../../bench/install-peers.ts";
import { waitForExit } from "../support/processes/cli-process.ts";

const TIMEOUT_MS = 300_000;
vi.setConfig({ testTimeout: TIMEOUT_MS + 10_000 });

const cwd = resolve(import.meta.dirname, "../..");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-scripts-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the command, expects exit code 0, and returns its standard output. */
async function outputOf(script: string, options: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(script, options);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

function run(script: string, options: readonly string[]): ReturnType<typeof waitForExit> {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  const env = { PATH, HOME, XDG_CACHE_HOME, BENCH_DATA_DIR: folder };
  const command = ["run", script, "--", ...options];
  return waitForExit(spawn("npm", command, { cwd, env, timeout: TIMEOUT_MS }));
}

/** Expects a table row for each name, with positive figures. */
function expectMeasured(text: string, names: readonly string[]): void {
  const rows = text.split("\n");
  for (const name of names) {
    const row = rows.findLast((line) => line.startsWith(`| ${name} | `)) ?? "";
    expect(row.slice(name.length + 4), `the row of ${name} in ${text}`).toMatch(/[1-9]/);
  }
}

// All benchmarks share the same few jobs, which the first one creates.
const JOBS = "--jobs=2000";

describe("npm run bench", () => {
  it("installs the products to compare with, whose types fit", async () => {
    await installPeers(() => undefined);
    const { code, stdout } = await waitForExit(
      spawn("node_modules/.bin/tsc", ["--noEmit", "-p", "bench"], { cwd, timeout: TIMEOUT_MS }),
    );
    expect(stdout).toBe("");
    expect(code).toBe(0);
  });

  it("measures a row of the API", async () => {
    const text = await outputOf("bench", [JOBS, "--rounds=1", "--only=batch"]);
    expectMeasured(text, ["PATCH batch of 100"]);
  });

  it("measures a row of GraphQL", async () => {
    const text = await outputOf("bench", [JOBS, "--rounds=1", "--only=stats"]);
    expectMeasured(text, ["GraphQL, jobStats by status; b: hand-written"]);
  });

  it("measures deliveries", async () => {
    const options = ["--deliveries=500", "--rounds=1", "--only=backlog", "--engines=bare-loop"];
    const text = await outputOf("bench", options);
    expectMeasured(text, ["Waymark", "bare loop of signed POSTs"]);
  });
});

it("npm run bench:overload measures responses under overload", async () => {
  const text = await outputOf("bench:overload", [JOBS, "--seconds=1", "--only=lists"]);
  expectMeasured(text, ["lists | 30 %", "lists | 300 %", "lists | 30 % again"]);
});

it("npm run bench:growth measures one size", async () => {
  // The smallest size: as many jobs as delivered messages.
  const text = await outputOf("bench:growth", ["--sizes=10000", "--rounds=1"]);
  expectMeasured(text, ["list of 10, mixed filters", "PATCH one", "delivery, of a backlog of 10,000"]);
});

it("npm run bench:simulate measures unit costs and computes a fleet", async () => {
  const text = await outputOf("bench:simulate", [
    "--jobs=2000",
    "--seconds=2",
    "--warm-up=1",
    "--rates=50,100",
  ]);
  expectMeasured(text, ["list of 10", "retry of a delivery", "deliveries, changes, lists per second"]);
});
