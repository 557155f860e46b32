/** The form of a job: only what was changed is sent, for the version that it was changed at. */
import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { errorMessage } from "../../../app/api/describe-error.ts";
import { focusFirstError } from "../../../app/interaction/use-submit.ts";
import { notify } from "../../../app/interaction/notify.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { UpdateJobDocument, type UpdateJobMutation } from "../../../generated/job.ts";
import {
  validateInputs,
  jobFields,
  toFormValues,
  toPatch,
  type FieldName,
  type FormValues,
} from "../job.fields.ts";
import { rebase, type FieldConflict } from "./job.merge.ts";
import { userErrorMessage, userErrorField } from "../job.labels.ts";

export interface EditJob {
  values: FormValues;
  isChanged: boolean;
  isBusy: boolean;
  problems: Partial<Record<FieldName, string>>;
  /** About the form as a whole; null: nothing. */
  failure: string | null;
  conflicts: readonly FieldConflict[];
  /** Fields that somebody else changed since the form was opened. */
  changedByOthers: readonly FieldName[];
  setValue: (name: FieldName, value: string) => void;
  /** Ends a clash. */
  resolveConflict: (name: FieldName, value: string) => void;
  save: () => void;
}

interface Draft {
  /** The job that the values started from, and its version. */
  base: FormValues;
  version: number;
  values: FormValues;
  conflicts: readonly FieldConflict[];
  changedByOthers: readonly FieldName[];
}

interface SaveState {
  isBusy: boolean;
  failure: string | null;
  problems: Partial<Record<FieldName, string>>;
}

const idleState: SaveState = { isBusy: false, failure: null, problems: {} };

function createDraft(job: JobRowFragment): Draft {
  const base = toFormValues(job);
  return { base, version: job.version, values: base, conflicts: [], changedByOthers: [] };
}

/** The draft on top of what the job has become. */
function rebaseDraft(draft: Draft, job: JobRowFragment): Draft {
  const theirs = toFormValues(job);
  const { values, conflicts, changedByOthers } = rebase(draft.base, draft.values, theirs);
  return {
    base: theirs,
    version: job.version,
    values,
    conflicts: [
      ...draft.conflicts.filter(({ name }) => !conflicts.some((clash) => clash.name === name)),
      ...conflicts,
    ],
    changedByOthers: [...new Set([...draft.changedByOthers, ...changedByOthers])],
  };
}

interface UseEditJobOptions {
  job: JobRowFragment;
  onSaved: () => void;
  onReload: () => void;
}

export function useEditJob({ job, onSaved, onReload }: UseEditJobOptions): EditJob {
  const [draft, setDraft] = useState(() => createDraft(job));
  const [saveState, setSaveState] = useState(idleState);
  const [update] = useMutation(UpdateJobDocument);
  // Told by the subscription, or read anew after a refusal. One's own change comes back so, too.
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
      const refusal = toRejection(data?.updateJob);
      if (refusal === null) {
        notify(`${markingNumber} is saved.`);
        onSaved();
        return undefined;
      }
      setSaveState(refusal);
      focusFirstError();
      if (refusal.isConflict) onReload();
    } catch (error) {
      setSaveState({ ...idleState, failure: errorMessage(error) });
    }
    return undefined;
  };

  return {
    values: draft.values,
    conflicts: draft.conflicts,
    changedByOthers: draft.changedByOthers,
    isChanged: Object.keys(patch).length > 0,
    ...saveState,
    setValue: (name, value) =>
      setDraft((former) => ({ ...former, values: { ...former.values, [name]: value } })),
    resolveConflict: (name, value) =>
      setDraft((former) => ({
        ...former,
        values: { ...former.values, [name]: value },
        conflicts: former.conflicts.filter((clash) => clash.name !== name),
      })),
    save: () => void send(),
  };
}

/** Said also where what was changed is no field of the form: else a press of the button would come to nothing, unexplained. */
const OUTDATED_MESSAGE =
  "Nothing is saved yet: the job is newer than what the form began with. Look it over and save again.";

/** Null: it was taken. */
function toRejection(
  payload: UpdateJobMutation["updateJob"] | undefined,
): (SaveState & { isConflict: boolean }) | null {
  if (!payload) throw new Error("The server gave no answer");
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
  return {
    isBusy: false,
    isConflict,
    problems: Object.fromEntries(fieldErrors) as SaveState["problems"],
    failure:
      otherErrors.length > 0
        ? otherErrors.map(userErrorMessage).join(" ")
        : isConflict
          ? OUTDATED_MESSAGE
          : null,
  };
}
