/** The form of a job. Saves only changed fields, with the version that they are based on. */
import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { describeError, type Failure } from "../../../app/api/describe-error.ts";
import { focusFirstError } from "../../../app/interaction/use-submit.ts";
import { notify } from "../../../app/interaction/notify.tsx";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { UpdateJobDocument, type UpdateJobMutation } from "../../../generated/job.ts";
import {
  validateInputs,
  jobFields,
  toFormValues,
  toPatch,
  withStatus,
  type FieldName,
  type FormValues,
} from "../job.fields.ts";
import { rebase, type FieldConflict } from "./job.merge.ts";
import { statusTakesReason, type ReferenceData } from "../use-reference-data.ts";
import { userErrorMessage, userErrorField } from "../job.labels.ts";

export interface EditJob {
  values: FormValues;
  isChanged: boolean;
  isBusy: boolean;
  problems: Partial<Record<FieldName, string>>;
  /** An error about the form as a whole; null if there is none. */
  failure: Failure | null;
  conflicts: readonly FieldConflict[];
  /** Fields that other users changed since the form was opened. */
  changedByOthers: readonly FieldName[];
  /** A new status can also clear the failure reason. */
  setValue: (name: FieldName, value: string) => void;
  /** Explains fields whose effect is not visible. */
  hints: Partial<Record<FieldName, string>>;
  resolveConflict: (name: FieldName, value: string) => void;
  save: () => void;
}

interface Draft {
  /** The job's values at `version`, which the edit is based on. */
  base: FormValues;
  version: number;
  values: FormValues;
  conflicts: readonly FieldConflict[];
  changedByOthers: readonly FieldName[];
}

interface SaveState {
  isBusy: boolean;
  failure: Failure | null;
  problems: Partial<Record<FieldName, string>>;
}

const idleState: SaveState = { isBusy: false, failure: null, problems: {} };

function createDraft(job: JobRowFragment): Draft {
  const base = toFormValues(job);
  return { base, version: job.version, values: base, conflicts: [], changedByOthers: [] };
}

/** Applies the draft's changes to a newer version of the job. */
function rebaseDraft(draft: Draft, job: JobRowFragment): Draft {
  const theirs = toFormValues(job);
  const { values, conflicts, changedByOthers } = rebase(draft.base, draft.values, theirs);
  return {
    base: theirs,
    version: job.version,
    values,
    conflicts: [
      ...draft.conflicts.filter(({ name }) => !conflicts.some((conflict) => conflict.name === name)),
      ...conflicts,
    ],
    changedByOthers: [...new Set([...draft.changedByOthers, ...changedByOthers])],
  };
}

interface UseEditJobOptions {
  job: JobRowFragment;
  referenceData: ReferenceData;
  onSaved: () => void;
  onReload: () => void;
}

export function useEditJob({ job, referenceData, onSaved, onReload }: UseEditJobOptions): EditJob {
  const [draft, setDraft] = useState(() => createDraft(job));
  const [saveState, setSaveState] = useState(idleState);
  const [update] = useMutation(UpdateJobDocument);
  const takesReason = (status: string): boolean => statusTakesReason(referenceData, status);
  // A newer version arrives from the subscription or from a refetch after a rejection.
  if (job.version > draft.version && !saveState.isBusy) setDraft(rebaseDraft(draft, job));

  const patch = toPatch(draft.base, draft.values);
  const send = async (): Promise<void> => {
    const problems = validateInputs(
      jobFields.map(({ name }) => name).filter((name) => name in patch),
      draft.values,
    );
    if (Object.keys(problems).length > 0) {
      focusFirstError();
      return setSaveState({ ...idleState, problems });
    }
    setSaveState({ ...idleState, isBusy: true });
    try {
      const { markingNumber } = job;
      const { data } = await update({
        variables: { input: { markingNumber, expectedVersion: draft.version, patch } },
      });
      const rejection = toRejection(data?.updateJob);
      if (rejection === null) {
        notify(`${markingNumber} saved.`);
        onSaved();
        return undefined;
      }
      setSaveState(rejection);
      focusFirstError();
      if (rejection.isConflict) onReload();
    } catch (error) {
      setSaveState({ ...idleState, failure: describeError(error) });
    }
    return undefined;
  };

  return {
    values: draft.values,
    conflicts: draft.conflicts,
    changedByOthers: draft.changedByOthers,
    isChanged: Object.keys(patch).length > 0,
    ...saveState,
    setValue: (name, value) => setDraft((former) => withValue(former, name, value, takesReason)),
    hints: hintsOf(draft, takesReason),
    resolveConflict: (name, value) =>
      setDraft((former) => ({
        ...former,
        values: { ...former.values, [name]: value },
        conflicts: former.conflicts.filter((conflict) => conflict.name !== name),
      })),
    save: () => void send(),
  };
}

function withValue(
  draft: Draft,
  name: FieldName,
  value: string,
  takesReason: (status: string) => boolean,
): Draft {
  const { values, base } = draft;
  if (name === "normalizedStatus") return { ...draft, values: withStatus(values, value, base, takesReason) };
  return { ...draft, values: { ...values, [name]: value } };
}

function hintsOf({ base, values }: Draft, takesReason: (status: string) => boolean): EditJob["hints"] {
  const { normalizedStatus, failureReason, scheduledDeliveryDate } = values;
  const isCleared = failureReason === "" && base.failureReason !== "" && !takesReason(normalizedStatus);
  return {
    ...(isCleared && { failureReason: "Cleared, because only a failed or held job has a reason" }),
    ...(scheduledDeliveryDate !== "" && { scheduledDate: "The confirmed date decides when this job is due" }),
  };
}

/** Shown even if no field of the form changed, because otherwise pressing Save would seem to do nothing. */
const OUTDATED_MESSAGE = "Not saved: the job changed while you were editing. Review the form and save again.";

/** Null if the server accepted the change. */
function toRejection(
  payload: UpdateJobMutation["updateJob"] | undefined,
): (SaveState & { isConflict: boolean }) | null {
  if (!payload) throw new Error("The server returned no data");
  const { userErrors } = payload;
  if (userErrors.length === 0) return null;
  const isConflict = userErrors.some(({ code }) => code === "CONFLICT");
  const fieldErrors = userErrors.flatMap((error) => {
    const name = userErrorField(error);
    return name === null ? [] : [[name, userErrorMessage(error)] as const];
  });
  const otherErrors = userErrors.filter(
    (error) => userErrorField(error) === null && error.code !== "CONFLICT",
  );
  const message =
    otherErrors.length > 0
      ? otherErrors.map(userErrorMessage).join(" ")
      : isConflict
        ? OUTDATED_MESSAGE
        : null;
  return {
    isBusy: false,
    isConflict,
    problems: Object.fromEntries(fieldErrors) as SaveState["problems"],
    failure: message === null ? null : { message, guide: "screen" },
  };
}
