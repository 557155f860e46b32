/** The example mirror in Python: it stays equal to the list of jobs, over restarts, 410 and jobs that move away. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { beforeEach, afterAll, beforeAll, expect, it } from "vitest";
import { startAppInstance, type AppInstance } from "../../support/app/app-instance.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { preparePython, PYTHON_CLIENT, type PythonEnvironment } from "../../support/clients/python.ts";
import { eventually } from "../../support/eventually.ts";
import { createFakeClock, DAY_MS, HOUR_MS } from "../../support/fake-clock.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";

const EXAMPLE = fileURLToPath(new URL("../../../clients/examples/mirror-python", import.meta.url));
const TIMEOUT_MS = 180_000;

let app: TestApp;
let agent: TestOrganization;
let contractor: TestOrganization;
let numbers: string[];
let folder: string;
let database: string;
let python: PythonEnvironment;
const children: ChildProcess[] = [];

beforeAll(async () => {
  await buildSite();
  folder = await mkdtemp(join(tmpdir(), "waymark-mirror-"));
  database = join(folder, "mirror.db");
  python = await preparePython(join(folder, "packages"));
  app = await startTestApp();
  [agent, contractor] = [await app.createOrganization("agent"), await app.createOrganization("contractor")];
  numbers = await app.createJobs(
    agent,
    Array.from({ length: 230 }, () => ({ contractor })),
  );
  await waitUntilFeedIsComplete(app.database);
}, BUILD_TIMEOUT_MS);
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(({ skip }) => skip(python.skipReason !== null, python.skipReason ?? ""));

interface RunningMirror {
  output: () => string;
  /** Kills the process without a chance to clean up. */
  kill: () => Promise<void>;
}

function start(command: readonly string[], cwd: string, { url }: AppInstance): RunningMirror {
  const [program = "", ...args] = command;
  const env = {
    ...process.env,
    PYTHONPATH: `${join(folder, "packages")}:${PYTHON_CLIENT}`,
    WAYMARK_URL: url,
    WAYMARK_KEY: contractor.key,
  };
  const child = spawn(program, [...args, "--poll-interval", "1"], { cwd, env });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exit = once(child, "close");
  return {
    output: () => output,
    async kill() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

const startMirror = (instance: AppInstance): RunningMirror =>
  start(["python3", join(EXAMPLE, "mirror.py"), "--database", database], folder, instance);

type Copy = Record<string, { version: number; job: unknown }>;

function readMirror(path: string): Copy {
  const mirror = new DatabaseSync(path, { readOnly: true });
  try {
    const rows = mirror.prepare("select marking_number, version, job from jobs where job is not null").all();
    return Object.fromEntries(
      rows.map(({ marking_number: number, version, job }) => [
        String(number),
        { version: Number(version), job: JSON.parse(String(job)) as unknown },
      ]),
    );
  } finally {
    mirror.close();
  }
}

/** Returns the jobs that the contractor can see, from the list. */
async function readService(): Promise<Copy> {
  const copy: Copy = {};
  for (let cursor: string | null = ""; cursor !== null;) {
    const path = `/v1/jobs?page_size=100&sort=created_at${cursor ? `&cursor=${cursor}` : ""}`;
    const { data } = (await app.call(path, { key: contractor.key })).body;
    for (const job of data.items) copy[job.marking_number] = { version: job.version, job };
    cursor = data.pagination.next_cursor as string | null;
  }
  return copy;
}

const expectInSync = async (path = database): Promise<void> => {
  const expected = await readService();
  await eventually(() => expect(readMirror(path)).toEqual(expected));
};

async function change(indexes: readonly number[], weight: number): Promise<void> {
  for (const index of indexes) {
    const response = await patchJob(app, contractor, numbers[index] ?? "", { weight });
    expect(response.status).toBe(200);
  }
}

it(
  "copies all jobs, follows changes, and continues after it was killed",
  { timeout: TIMEOUT_MS },
  async () => {
    const first = startMirror(app);
    await eventually(() => expect(first.output()).toContain("Reconciling: no_cursor\n230 jobs\n"));
    await expectInSync();
    await change([0, 1, 0], 5);
    await expectInSync();
    await first.kill();
    await change([1, 2, 3], 6);
    const second = startMirror(app);
    await expectInSync();
    expect(second.output()).not.toContain("Reconciling");
    await second.kill();
  },
);

it(
  "reconciles after 410, and deletes jobs that moved to another contractor",
  { timeout: TIMEOUT_MS },
  async () => {
    const other = await app.createOrganization("contractor");
    await change([4], 7);
    const moved = numbers.slice(10, 12).map((markingNumber) => ({ markingNumber, contractor: other }));
    await app.createJobs(agent, moved);
    await waitUntilFeedIsComplete(app.database);
    const clock = createFakeClock();
    await using later = await startAppInstance(app.databaseUrl, {}, { clock });
    clock.advance(30 * DAY_MS + HOUR_MS);
    const mirror = startMirror(later);
    await eventually(() => expect(mirror.output()).toContain("Reconciling: expired_cursor\n228 jobs\n"));
    await expectInSync();
    expect(Object.keys(readMirror(database))).toHaveLength(228);
    await mirror.kill();
  },
);

it(
  "starts with one command, which installs the client from the service",
  { timeout: TIMEOUT_MS },
  async () => {
    const copy = join(folder, "mirror-python");
    await cp(EXAMPLE, copy, { recursive: true });
    const mirror = start(["sh", "run.sh"], copy, app);
    await eventually(() => expect(mirror.output()).toContain("jobs\n"), { timeoutMs: TIMEOUT_MS });
    await expectInSync(join(copy, "mirror.db"));
    await mirror.kill();
  },
);
