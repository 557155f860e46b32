/** The steps of a change of many jobs: choose, preview, apply. */
import { useApolloClient } from "@apollo/client/react";
import { useState } from "react";
import {
  JobsToEditDocument,
  RescheduleJobsDocument,
  UpdateJobsDocument,
  type BulkChangeFragment,
} from "../../../generated/bulk-edit.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import {
  buildPlan,
  buildResult,
  buildTargets,
  type BulkChange,
  type BulkEditPlan,
  type BulkEditResult,
} from "./plan.ts";

export type BulkEditStep =
  | { kind: "choose" }
  | { kind: "preview"; plan: BulkEditPlan }
  | { kind: "done"; outcome: BulkEditResult };

export interface BulkEdit {
  step: BulkEditStep;
  isBusy: boolean;
  /** Null if the last step succeeded. */
  error: unknown;
  preview: (change: BulkChange) => Promise<void>;
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

  return {
    step,
    ...state,
    preview: (change) =>
      runStep(async () => {
        const before = await readJobs(client, markingNumbers);
        const targets = buildTargets(markingNumbers, before);
        const results = await send(client, { change, targets }, true);
        return { kind: "preview", plan: buildPlan(change, targets, before, results) };
      }),
    apply: (plan) =>
      runStep(async () => {
        // Also if the response is lost, because the server may have applied the change.
        const applied = await send(client, plan, false).finally(onApplied);
        return { kind: "done", outcome: buildResult(plan, applied) };
      }),
    back: () => {
      setState({ isBusy: false, error: null });
      setStep({ kind: "choose" });
    },
  };
}

type Client = ReturnType<typeof useApolloClient>;

async function readJobs(
  client: Client,
  markingNumbers: readonly string[],
): Promise<Map<string, JobRowFragment>> {
  const { data } = await client.query({
    query: JobsToEditDocument,
    variables: { markingNumbers },
    fetchPolicy: "network-only",
  });
  return new Map(
    (data?.jobsByMarkingNumber ?? []).flatMap((job) => (job ? [[job.markingNumber, job] as const] : [])),
  );
}

async function send(
  client: Client,
  { change, targets }: Pick<BulkEditPlan, "change" | "targets">,
  dryRun: boolean,
): Promise<BulkChangeFragment["results"]> {
  // The jobs of a dry run must not reach the cache.
  const fetchPolicy = dryRun ? "no-cache" : "network-only";
  const { data } = await (change.kind === "edit"
    ? client.mutate({
        mutation: UpdateJobsDocument,
        variables: { items: targets.map((target) => ({ ...target, patch: change.patch })), dryRun },
        fetchPolicy,
      })
    : client.mutate({
        mutation: RescheduleJobsDocument,
        variables: { items: targets, dueDate: change.dueDate, confirmed: change.confirmed, dryRun },
        fetchPolicy,
      }));
  if (!data) throw new Error("The server returned no data");
  return data.change.results;
}
