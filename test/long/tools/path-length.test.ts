/** The number of source files that a PATCH and a delivery run through, measured in real server processes. */
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { openFaultFixture, type FaultFixture } from "../../support/faults/webhook.fixture.ts";
import { freePort } from "../../support/free-port.ts";
import type { ServerProcess } from "../../support/processes/server-process.ts";

/** The counts on the day of the last change. They may only fall. */
const MAX_FILES_OF_A_PATCH = 26;
const MAX_FILES_OF_A_DELIVERY = 17;
/** A file counts if every run enters it. Timers enter others, more often on a busy machine, so up to this many runs. */
const MAX_RUNS = 20;

// Up to 20 runs, after which the list of files is more useful than a timeout.
vi.setConfig({ testTimeout: 120_000 });

const preload = fileURLToPath(new URL("../../support/processes/coverage-preload.ts", import.meta.url));

interface MeasuredServer {
  server: ServerProcess;
  /**
   * Returns the files that `work` enters in every run until a statement with `text` leaves. A first run fills caches.
   * Stops as soon as at most `max` files are left.
   */
  enteredFiles: (text: string, max: number, work: (run: number) => Promise<unknown>) => Promise<string[]>;
}

async function startMeasuredServer(fixture: FaultFixture, role: "api" | "worker"): Promise<MeasuredServer> {
  const port = String(await freePort());
  const server = await fixture.startServer(role, {
    COVERAGE_PORT: port,
    NODE_OPTIONS: `--import=${preload}`,
  });
  return {
    server,
    async enteredFiles(text, max, work) {
      await work(0);
      let inEveryRun: Set<string> | null = null;
      for (let run = 1; run <= MAX_RUNS && !(inEveryRun && inEveryRun.size <= max); run += 1) {
        const response = await fetch(`http://127.0.0.1:${port}/?until=${encodeURIComponent(text)}`);
        await work(run);
        const files = new Set((await response.json()) as string[]);
        inEveryRun = inEveryRun ? inEveryRun.intersection(files) : files;
      }
      return [...(inEveryRun ?? [])];
    },
  };
}

async function patch(server: ServerProcess, key: string, number: string, weight: number): Promise<void> {
  const response = await fetch(`${server.url}/v1/jobs/by-marking/${number}`, {
    method: "PATCH",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ weight }),
  });
  await response.text();
  expect(response.status).toBe(200);
}

function expectAtMost(max: number, files: readonly string[]): void {
  if (files.length > max) throw new Error(`${files.length} files, at most ${max}:\n${files.join("\n")}`);
}

it(`a PATCH enters at most ${MAX_FILES_OF_A_PATCH} files before its statement leaves`, async () => {
  const fixture = await openFaultFixture();
  const [number = ""] = await fixture.addJobs(1);
  const { server, enteredFiles } = await startMeasuredServer(fixture, "api");

  const files = await enteredFiles("update job set", MAX_FILES_OF_A_PATCH, (run) =>
    patch(server, fixture.agent.key, number, run + 1),
  );

  expect(files).toContain("src/jobs/update/update-and-fan-out.sql.ts");
  expectAtMost(MAX_FILES_OF_A_PATCH, files);
});

it(`a delivery enters at most ${MAX_FILES_OF_A_DELIVERY} files from commit to recorded attempt`, async () => {
  const fixture = await openFaultFixture();
  const [number = ""] = await fixture.addJobs(1);
  const endpoint = await fixture.addEndpoint();
  const { enteredFiles } = await startMeasuredServer(fixture, "worker");

  const files = await enteredFiles("insert into webhook_attempt", MAX_FILES_OF_A_DELIVERY, async (run) => {
    await fixture.updateJob(number, run + 1);
    await expect.poll(() => endpoint.received().length).toBe(run + 1);
  });

  expect(files).toContain("src/webhooks/dispatcher/retry-or-disable.ts");
  expectAtMost(MAX_FILES_OF_A_DELIVERY, files);
});
