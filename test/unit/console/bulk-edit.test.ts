/** The runs of a bulk edit against a small server in memory: preview, change, pause, failures, report and undo. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BulkChangeFragment } from "../../../src/console/generated/bulk-edit.ts";
import type { JobRowFragment } from "../../../src/console/generated/job-row.ts";
import type { Run, RunStatus } from "../../../src/console/pages/jobs/bulk-edit/chunk-run.ts";
import {
  buildReport,
  CHUNK_SIZE,
  startChange,
  startPreview,
  startUndo,
  type BulkPlan,
  type BulkRequests,
  type ChangeRun,
  type JobSet,
} from "../../../src/console/pages/jobs/bulk-edit/plan.ts";

type Result = BulkChangeFragment["results"][number];
type Patch = Partial<Pick<JobRowFragment, "labels" | "groupCode">>;

class RateLimited extends Error {}
class LostResponse extends Error {}

const change = { kind: "edit", patch: { labels: "new" } } as const;
const matching: JobSet = { kind: "matching", filter: null, total: 250 };

/** 250 jobs in the order of their creation. */
class Server {
  readonly jobs = new Map<string, JobRowFragment>();
  readonly requests: string[] = [];
  /** Called before the nth request is handled, from 1. */
  before: (request: number, apply: () => void) => void = () => undefined;
  readonly #responses = new Map<string, Result[]>();

  constructor(count: number) {
    for (let index = 1; index <= count; index += 1) this.add(`WM-${String(index).padStart(4, "0")}`);
  }

  add(markingNumber: string, fields: Patch = {}): void {
    const job = { id: markingNumber, markingNumber, version: 1, labels: null, groupCode: null, ...fields };
    this.jobs.set(markingNumber, job as JobRowFragment);
  }

  /** Another user changes the job. */
  touch(markingNumber: string, patch: Patch): void {
    this.#apply({ markingNumber, patch }, false);
  }

  #apply(
    {
      markingNumber,
      expectedVersion,
      patch,
    }: { markingNumber: string; expectedVersion?: number | null | undefined; patch: Patch },
    dryRun: boolean,
  ): Result {
    const job = this.jobs.get(markingNumber);
    const failed = (code: "CONFLICT" | "NOT_FOUND" | "INVALID", message: string): Result => ({
      markingNumber,
      outcome: "FAILED",
      job: null,
      userErrors: [{ code, field: null, message }],
    });
    if (!job) return failed("NOT_FOUND", "Delivery job not found");
    if (typeof expectedVersion === "number" && expectedVersion !== job.version) return failed("CONFLICT", "");
    if (job.groupCode === "closed") return failed("INVALID", "The group is closed");
    const isSame = Object.entries(patch).every(([name, value]) => job[name as keyof Patch] === value);
    const next = isSame ? job : { ...job, ...patch, version: job.version + 1 };
    if (!dryRun) this.jobs.set(markingNumber, next);
    return { markingNumber, outcome: isSame ? "UNCHANGED" : "UPDATED", job: next, userErrors: [] };
  }

  readonly api: BulkRequests = {
    read: async (_jobs, after) => {
      const from = Number(after ?? 0);
      const all = [...this.jobs.values()];
      const jobs = all
        .slice(from, from + CHUNK_SIZE)
        .map((job) => ({ markingNumber: job.markingNumber, job }));
      return await Promise.resolve({
        jobs,
        next: from + CHUNK_SIZE < all.length ? String(from + CHUNK_SIZE) : null,
      });
    },
    dryRun: async (_change, targets) =>
      await Promise.resolve(targets.map((target) => this.#apply({ ...target, patch: change.patch }, true))),
    apply: (_change, targets, key) =>
      this.#once(key, () => targets.map((target) => this.#apply({ ...target, patch: change.patch }, false))),
    restore: (items, key) =>
      this.#once(key, () => items.map((item) => this.#apply({ ...item, patch: item.patch as Patch }, false))),
    retryAfterMs: (error) => (error instanceof RateLimited ? 3_000 : null),
  };

  /** As Idempotency-Key. */
  async #once(key: string, act: () => Result[]): Promise<Result[]> {
    this.requests.push(key);
    const apply = (): void => void this.#responses.set(key, this.#responses.get(key) ?? act());
    this.before(this.requests.length, apply);
    apply();
    return await Promise.resolve(this.#responses.get(key) ?? []);
  }
}

async function reaches(run: Run<unknown>, status: RunStatus): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => {
    if (run.state().status === status) resolve();
  };
  run.subscribe(check);
  check();
  await promise;
}

async function planFor(server: Server): Promise<BulkPlan> {
  const run = startPreview(server.api, matching, change);
  await reaches(run, "done");
  return { change, jobs: run.state().result.jobs };
}

const mayHaveApplied = (error: unknown): boolean => error instanceof LostResponse;

function reportOf({ jobs: preview }: BulkPlan, changeRun: ChangeRun) {
  return buildReport(changeRun, changeRun.run.state(), { preview, mayHaveApplied });
}

let server: Server;

beforeEach(() => void (server = new Server(250)));
afterEach(() => void vi.useRealTimers());

describe("the preview", () => {
  it("covers every job of every page, and says why jobs are refused", async () => {
    server.add("closed", { groupCode: "closed" });
    server.add("done already", { labels: "new" });
    const { jobs } = await planFor(server);
    expect(jobs).toHaveLength(252);
    expect(jobs[0]).toMatchObject({
      outcome: "UPDATED",
      version: 1,
      changes: [{ field: "labels", from: null, to: "new" }],
    });
    expect(jobs.slice(-2)).toMatchObject([
      { outcome: "FAILED", problem: "The group is closed" },
      { outcome: "UNCHANGED", changes: [] },
    ]);
    expect(server.jobs.get("WM-0001")?.labels).toBeNull();
  });
});

describe("the change", () => {
  it("sends 100 jobs in a request, and reports changed, unchanged and refused jobs", async () => {
    server.add("closed", { groupCode: "closed" });
    server.add("done already", { labels: "new" });
    const plan = await planFor(server);
    server.touch("WM-0150", { groupCode: "other" });
    const changeRun = startChange(server.api, plan, "run");
    await reaches(changeRun.run, "done");
    expect(server.requests).toEqual(["run-0", "run-100", "run-200"]);
    expect(reportOf(plan, changeRun)).toMatchObject({
      changed: { length: 249 },
      unchanged: ["done already"],
      refused: [
        { problem: "The group is closed", markingNumbers: ["closed"] },
        { problem: "Someone else changed this job.", markingNumbers: ["WM-0150"] },
      ],
      uncertain: [],
      notTried: [],
    });
  });

  it("neither misses jobs nor changes them twice while others join and leave", async () => {
    const plan = await planFor(server);
    server.before = (request) => {
      if (request === 2) server.jobs.delete("WM-0001");
      server.add(`joined ${request}`);
    };
    const { run } = startChange(server.api, plan, "run");
    await reaches(run, "done");
    expect(run.state().result).toHaveLength(250);
    const versions = [...server.jobs.values()].map(({ markingNumber, version }) => [markingNumber, version]);
    expect(versions.filter(([, version]) => version !== 2)).toEqual([
      ["joined 1", 1],
      ["joined 2", 1],
      ["joined 3", 1],
    ]);
  });

  it("pauses after the request in flight, and continues with the next", async () => {
    const plan = await planFor(server);
    const { run } = startChange(server.api, plan, "run");
    run.pause();
    expect(run.state().status).toBe("pausing");
    await reaches(run, "paused");
    expect([run.state().result.length, server.requests]).toEqual([100, ["run-0"]]);
    run.resume();
    await reaches(run, "done");
    expect(server.requests).toEqual(["run-0", "run-100", "run-200"]);
  });

  it("stops for good after the request in flight, and reports jobs that were not tried", async () => {
    const plan = await planFor(server);
    const changeRun = startChange(server.api, plan, "run");
    changeRun.run.stop();
    await reaches(changeRun.run, "stopped");
    changeRun.run.resume();
    expect(changeRun.run.state().status).toBe("stopped");
    expect(reportOf(plan, changeRun)).toMatchObject({ changed: { length: 100 }, notTried: { length: 150 } });
  });

  it("waits as long as the server asks, then repeats the same request", async () => {
    vi.useFakeTimers();
    const plan = await planFor(server);
    server.before = (request) => {
      if (request === 2) throw new RateLimited();
    };
    const { run } = startChange(server.api, plan, "run");
    await vi.advanceTimersByTimeAsync(2_999);
    expect(run.state()).toMatchObject({ status: "paused", interruption: { retryAfterMs: 3_000 } });
    await vi.advanceTimersByTimeAsync(1);
    expect(run.state()).toMatchObject({ status: "done", interruption: null });
    expect(server.requests).toEqual(["run-0", "run-100", "run-100", "run-200"]);
  });

  it("waits for the user if they pause while the server is busy", async () => {
    vi.useFakeTimers();
    const plan = await planFor(server);
    server.before = (request) => {
      if (request === 1) throw new RateLimited();
    };
    const { run } = startChange(server.api, plan, "run");
    await vi.advanceTimersByTimeAsync(1);
    run.pause();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(run.state()).toMatchObject({ status: "paused", interruption: { retryAfterMs: null } });
    run.resume();
    await vi.advanceTimersByTimeAsync(1);
    expect(run.state().status).toBe("done");
  });

  it("repeats a request whose response was lost, without changing its jobs twice", async () => {
    const plan = await planFor(server);
    server.before = (request, apply) => {
      if (request !== 2) return;
      apply();
      throw new LostResponse();
    };
    const changeRun = startChange(server.api, plan, "run");
    await reaches(changeRun.run, "paused");
    expect(changeRun.run.state()).toMatchObject({
      result: { length: 100 },
      interruption: { retryAfterMs: null },
    });
    changeRun.run.resume();
    await reaches(changeRun.run, "done");
    expect(reportOf(plan, changeRun)).toMatchObject({ changed: { length: 250 }, refused: [] });
    expect(new Set([...server.jobs.values()].map(({ version }) => version))).toEqual(new Set([2]));
  });

  it("reports jobs as uncertain if the user stops after a lost response", async () => {
    const plan = await planFor(server);
    server.before = (request) => {
      if (request === 2) throw new LostResponse();
    };
    const changeRun = startChange(server.api, plan, "run");
    await reaches(changeRun.run, "paused");
    changeRun.run.stop();
    expect(reportOf(plan, changeRun)).toMatchObject({
      changed: { length: 100 },
      uncertain: { length: 100, 0: "WM-0101" },
      notTried: { length: 50 },
    });
  });
});

describe("the undo", () => {
  it("restores the former values, except of jobs that something else has changed since", async () => {
    server.add("had labels", { labels: "old" });
    const plan = await planFor(server);
    const changeRun = startChange(server.api, plan, "run");
    await reaches(changeRun.run, "done");
    server.touch("WM-0002", { groupCode: "other" });
    server.jobs.delete("WM-0003");

    const undo = startUndo(server.api, changeRun.run.state().result, "undo");
    await reaches(undo.run, "done");
    expect(buildReport(undo, undo.run.state(), { mayHaveApplied })).toMatchObject({
      changed: { length: 249 },
      refused: [
        { problem: "Someone else changed this job.", markingNumbers: ["WM-0002"] },
        { problem: "Delivery job not found", markingNumbers: ["WM-0003"] },
      ],
    });
    const labels = (markingNumber: string) => server.jobs.get(markingNumber)?.labels;
    expect([labels("WM-0001"), labels("had labels"), labels("WM-0002")]).toEqual([null, "old", "new"]);
  });

  it("leaves jobs that the run did not change", async () => {
    server.add("done already", { labels: "new" });
    const plan = await planFor(server);
    server.touch("WM-0001", { groupCode: "other" });
    const changeRun = startChange(server.api, plan, "run");
    changeRun.run.stop();
    await reaches(changeRun.run, "stopped");
    const undo = startUndo(server.api, changeRun.run.state().result, "undo");
    expect(undo.markingNumbers).toHaveLength(99);
    await reaches(undo.run, "done");
    expect(server.jobs.get("done already")?.labels).toBe("new");
  });
});
