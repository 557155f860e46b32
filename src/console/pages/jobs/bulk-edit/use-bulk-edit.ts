/** The steps of a change of many jobs: choose, check, preview, change, report, undo. */
import { useApolloClient } from "@apollo/client/react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useSession } from "../../../app/session/session.ts";
import { bulkRequests } from "./bulk-requests.ts";
import { isActive, type Run, type RunState } from "./chunk-run.ts";
import {
  startChange,
  startPreview,
  startUndo,
  type BulkChange,
  type BulkPlan,
  type ChangeRun,
  type JobSet,
  type Preview,
} from "./plan.ts";

export type BulkEditStep =
  | { kind: "choose" }
  | { kind: "check"; change: BulkChange; run: Run<Preview> }
  | { kind: "preview"; plan: BulkPlan }
  | { kind: "change"; plan: BulkPlan; change: ChangeRun }
  | { kind: "undo"; plan: BulkPlan; change: ChangeRun; undo: ChangeRun };

export interface BulkEdit {
  step: BulkEditStep;
  check: (jobs: JobSet, change: BulkChange) => void;
  apply: (plan: BulkPlan) => void;
  undo: (plan: BulkPlan, change: ChangeRun) => void;
  /** Returns to the first step and stops the run. */
  reset: () => void;
}

/** `onChanged`: called when a run has ended that changed jobs. A run stops when the page is left. */
export function useBulkEdit(onChanged: () => void): BulkEdit {
  const client = useApolloClient();
  const hasKeys = useSession().organization !== null;
  const requests = useMemo(() => bulkRequests(client, hasKeys), [client, hasKeys]);
  const [step, setStep] = useState<BulkEditStep>({ kind: "choose" });
  const run = runOf(step);
  useEffect(() => {
    // The server is reachable again.
    const resume = (): void => {
      if (run?.state().interruption) run.resume();
    };
    window.addEventListener("online", resume);
    return () => {
      window.removeEventListener("online", resume);
      run?.stop();
    };
  }, [run]);

  const start = (change: ChangeRun): ChangeRun => {
    const stop = change.run.subscribe(() => {
      if (isActive(change.run.state())) return;
      stop();
      onChanged();
    });
    return change;
  };
  return {
    step,
    check(jobs, change) {
      const preview = startPreview(requests, jobs, change);
      setStep({ kind: "check", change, run: preview });
      preview.subscribe(() => {
        const { status, result } = preview.state();
        if (status !== "done") return;
        const next: BulkEditStep = { kind: "preview", plan: { change, jobs: result.jobs } };
        // Unless the user went back while the last request was in flight.
        setStep((former) => (former.kind === "check" && former.run === preview ? next : former));
      });
    },
    apply: (plan) =>
      setStep({ kind: "change", plan, change: start(startChange(requests, plan, randomKey())) }),
    undo: (plan, change) =>
      setStep({
        kind: "undo",
        plan,
        change,
        undo: start(startUndo(requests, change.run.state().result, randomKey())),
      }),
    reset: () => setStep({ kind: "choose" }),
  };
}

/** `crypto.randomUUID` needs HTTPS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

/** The run of this step, which may have ended. */
export function runOf(step: BulkEditStep): Run<unknown> | null {
  if (step.kind === "check") return step.run;
  if (step.kind === "change") return step.change.run;
  return step.kind === "undo" ? step.undo.run : null;
}

export function useRunState<Result>(run: Run<Result>): RunState<Result> {
  return useSyncExternalStore(run.subscribe, run.state);
}
