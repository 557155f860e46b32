/** The steps of editing many: choose what to change, see what it would do, do it. */
import { useApolloClient } from "@apollo/client/react";
import { useState } from "react";
import {
  JobsToEditDocument,
  UpdateJobsDocument,
  type JobPatch,
  type UpdateJobInput,
} from "../../generated/edit-many.ts";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { itemsOf, outcomeOf, planOf, type Outcome, type Plan } from "./edit-many.plan.ts";

export type EditStep =
  | { kind: "choose" }
  | { kind: "preview"; plan: Plan }
  | { kind: "done"; outcome: Outcome };

export interface EditMany {
  step: EditStep;
  isBusy: boolean;
  /** Null: nothing went wrong. */
  error: unknown;
  preview: (patch: JobPatch) => Promise<void>;
  apply: (plan: Plan) => Promise<void>;
  back: () => void;
}

export function useEditMany(markingNumbers: readonly string[], onApplied: () => void): EditMany {
  const client = useApolloClient();
  const [step, setStep] = useState<EditStep>({ kind: "choose" });
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null });

  const attempt = async (act: () => Promise<EditStep>): Promise<void> => {
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
      // What a dry run answers with is not so.
      fetchPolicy: dryRun ? "no-cache" : "network-only",
    });
    if (!data) throw new Error("The server gave no answer");
    return data.updateJobs.results;
  };

  return {
    step,
    ...state,
    preview: (patch) =>
      attempt(async () => {
        const before = await readJobs();
        const items = itemsOf(markingNumbers, before, patch);
        return { kind: "preview", plan: planOf(items, before, await send(items, true)) };
      }),
    apply: (plan) =>
      attempt(async () => {
        // Also where the answer is lost: the server may have done it all the same.
        const applied = await send(plan.items, false).finally(onApplied);
        return { kind: "done", outcome: outcomeOf(plan, applied) };
      }),
    back: () => {
      setState({ isBusy: false, error: null });
      setStep({ kind: "choose" });
    },
  };
}
