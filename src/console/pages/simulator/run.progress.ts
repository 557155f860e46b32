/** How far a run is, read from the job: each step changes its status once and increases its version. */
import type { RunTestJobMutation } from "../../generated/simulator.ts";
import type { JobRowFragment } from "../../generated/job-row.ts";

type Run = NonNullable<RunTestJobMutation["runTestJob"]["run"]>;

export interface StartedRun extends Pick<Run, "markingNumber" | "intervalMs" | "endsAt"> {
  /** Status codes, without those that would not change the status. */
  readonly steps: readonly string[];
  /** The version of the job before the first step. */
  readonly firstVersion: number;
}

type RunJob = Pick<JobRowFragment, "version" | "normalizedStatus" | "updatedAt">;

/** `job`: its state before the run. */
export function startedRun(run: Run, job: RunJob): StartedRun {
  const { markingNumber, intervalMs, endsAt } = run;
  const steps = run.steps.filter(
    (status, index) => status !== (run.steps[index - 1] ?? job.normalizedStatus),
  );
  return { markingNumber, intervalMs, endsAt, steps, firstVersion: job.version };
}

/** Returns the number of steps that were applied. Someone else's changes of other fields do not count. */
export function appliedSteps({ steps, firstVersion, endsAt }: StartedRun, job: RunJob): number {
  const changes = Math.min(Math.max(job.version - firstVersion, 0), steps.length);
  // The job may have got another status after the run.
  if (changes === steps.length && Date.parse(job.updatedAt) >= Date.parse(endsAt)) return changes;
  const last = steps.slice(0, changes).lastIndexOf(job.normalizedStatus);
  return last === -1 ? changes : last + 1;
}
