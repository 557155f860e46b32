/** The steps of a bulk edit: choose fields, preview, apply. */
import { useApolloClient } from "@apollo/client/react";
import { useState } from "react";
import {
  JobsToEditDocument,
  UpdateJobsDocument,
  type JobPatch,
  type UpdateJobInput,
} from "../../../generated/bulk-edit.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { buildItems, buildResult, buildPlan, type BulkEditResult, type BulkEditPlan } from "./plan.ts";

export type BulkEditStep =
  | { kind: "choose" }
  | { kind: "preview"; plan: BulkEditPlan }
  | { kind: "done"; outcome: BulkEditResult };

export interface BulkEdit {
  step: BulkEditStep;
  isBusy: boolean;
  /** Null if the last step succeeded. */
  error: unknown;
  preview: (patch: JobPatch) => Promise<void>;
  apply: (plan: BulkEditPlan) => Promise<void>;
  back: () => void;
}

export function useBulkEdit(markingNumbers: readonly string[], onApplied: () => void): BulkEdit {
  const client = useApolloClient();
  const [step, setStep] = useState<BulkEditStep>({ kind: "choose" });
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null });

  const runStep = async (act: () => Promise<BulkEditStep>): Promise<void> => {
    setState({ isBusy: true, error: null });
    try {
      setStep(await act());
      setState({ isBusy: false, error: null });
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };

  const readJobs = async (): Promise<Map<string, JobRowFragment>> => {
    const { data } = await client.query({
      query: JobsToEditDocument,
      variables: { markingNumbers },
      fetchPolicy: "network-only",
    });
    return new Map(
      (data?.jobsByMarkingNumber ?? []).flatMap((job) => (job ? [[job.markingNumber, job] as const] : [])),
    );
  };

  const send = async (items: readonly UpdateJobInput[], dryRun: boolean) => {
    const { data } = await client.mutate({
      mutation: UpdateJobsDocument,
      variables: { items, dryRun },
      // The jobs of a dry run must not reach the cache.
      fetchPolicy: dryRun ? "no-cache" : "network-only",
    });
    if (!data) throw new Error("The server returned no data");
    return data.updateJobs.results;
  };

  return {
    step,
    ...state,
    preview: (patch) =>
      runStep(async () => {
        const before = await readJobs();
        const items = buildItems(markingNumbers, before, patch);
        return { kind: "preview", plan: buildPlan(items, before, await send(items, true)) };
      }),
    apply: (plan) =>
      runStep(async () => {
        // Also if the response is lost, because the server may have applied the change.
        const applied = await send(plan.items, false).finally(onApplied);
        return { kind: "done", outcome: buildResult(plan, applied) };
      }),
    back: () => {
      setState({ isBusy: false, error: null });
      setStep({ kind: "choose" });
    },
  };
}
