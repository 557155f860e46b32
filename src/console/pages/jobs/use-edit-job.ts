/** The form of a job: only what was changed is sent, for the version that it was changed at. */
import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { errorSentence } from "../../app/describe-error.ts";
import { focusFirstError } from "../../app/use-submit.ts";
import { tell } from "../../app/tell.ts";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { UpdateJobDocument, type UpdateJobMutation } from "../../generated/job.ts";
import { checkInputs, jobFields, toForm, toPatch, type FieldName, type FormValues } from "./job.fields.ts";
import { rebase, type Clash } from "./job.merge.ts";
import { refusalSentence, refusedField } from "./job.words.ts";

export interface EditJob {
  values: FormValues;
  isChanged: boolean;
  isBusy: boolean;
  problems: Partial<Record<FieldName, string>>;
  /** About the form as a whole; null: nothing. */
  failure: string | null;
  clashes: readonly Clash[];
  /** Fields that somebody else changed since the form was opened. */
  changedMeanwhile: readonly FieldName[];
  set: (name: FieldName, value: string) => void;
  /** Ends a clash. */
  settle: (name: FieldName, value: string) => void;
  save: () => void;
}

interface Draft {
  /** The job that the values started from, and its version. */
  base: FormValues;
  version: number;
  values: FormValues;
  clashes: readonly Clash[];
  changedMeanwhile: readonly FieldName[];
}

interface Sending {
  isBusy: boolean;
  failure: string | null;
  problems: Partial<Record<FieldName, string>>;
}

const idle: Sending = { isBusy: false, failure: null, problems: {} };

function draftOf(job: JobRowFragment): Draft {
  const base = toForm(job);
  return { base, version: job.version, values: base, clashes: [], changedMeanwhile: [] };
}

/** The draft on top of what the job has become. */
function rebased(draft: Draft, job: JobRowFragment): Draft {
  const theirs = toForm(job);
  const { values, clashes, changed } = rebase(draft.base, draft.values, theirs);
  return {
    base: theirs,
    version: job.version,
    values,
    clashes: [
      ...draft.clashes.filter(({ name }) => !clashes.some((clash) => clash.name === name)),
      ...clashes,
    ],
    changedMeanwhile: [...new Set([...draft.changedMeanwhile, ...changed])],
  };
}

interface EditJobParts {
  job: JobRowFragment;
  onSaved: () => void;
  onReload: () => void;
}

export function useEditJob({ job, onSaved, onReload }: EditJobParts): EditJob {
  const [draft, setDraft] = useState(() => draftOf(job));
  const [sending, setSending] = useState(idle);
  const [update] = useMutation(UpdateJobDocument);
  // Told by the subscription, or read anew after a refusal. One's own change comes back so, too.
  if (job.version > draft.version && !sending.isBusy) setDraft(rebased(draft, job));

  const patch = toPatch(draft.base, draft.values);
  const send = async (): Promise<void> => {
    const problems = checkInputs(
      jobFields.map(({ name }) => name).filter((name) => name in patch),
      draft.values,
    );
    if (Object.keys(problems).length > 0) {
      focusFirstError();
      return setSending({ ...idle, problems });
    }
    setSending({ ...idle, isBusy: true });
    try {
      const { markingNumber } = job;
      const { data } = await update({
        variables: { input: { markingNumber, expectedVersion: draft.version, patch } },
      });
      const refusal = refusalOf(data?.updateJob);
      if (refusal === null) {
        tell(`${markingNumber} is saved.`);
        onSaved();
        return undefined;
      }
      setSending(refusal);
      focusFirstError();
      if (refusal.isConflict) onReload();
    } catch (error) {
      setSending({ ...idle, failure: errorSentence(error) });
    }
    return undefined;
  };

  return {
    values: draft.values,
    clashes: draft.clashes,
    changedMeanwhile: draft.changedMeanwhile,
    isChanged: Object.keys(patch).length > 0,
    ...sending,
    set: (name, value) => setDraft((former) => ({ ...former, values: { ...former.values, [name]: value } })),
    settle: (name, value) =>
      setDraft((former) => ({
        ...former,
        values: { ...former.values, [name]: value },
        clashes: former.clashes.filter((clash) => clash.name !== name),
      })),
    save: () => void send(),
  };
}

/** Said also where what was changed is no field of the form: else a press of the button would come to nothing, unexplained. */
const NEWER =
  "Nothing is saved yet: the job is newer than what the form began with. Look it over and save again.";

/** Null: it was taken. */
function refusalOf(
  payload: UpdateJobMutation["updateJob"] | undefined,
): (Sending & { isConflict: boolean }) | null {
  if (!payload) throw new Error("The server gave no answer");
  const { userErrors } = payload;
  if (userErrors.length === 0) return null;
  const isConflict = userErrors.some(({ code }) => code === "CONFLICT");
  const ofFields = userErrors.flatMap((error) => {
    const name = refusedField(error);
    return name === null ? [] : [[name, refusalSentence(error)] as const];
  });
  const others = userErrors.filter((error) => refusedField(error) === null && error.code !== "CONFLICT");
  return {
    isBusy: false,
    isConflict,
    problems: Object.fromEntries(ofFields) as Sending["problems"],
    failure: others.length > 0 ? others.map(refusalSentence).join(" ") : isConflict ? NEWER : null,
  };
}
