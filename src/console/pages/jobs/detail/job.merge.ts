/** Merges changes of other users into a form that is being edited. */
import { jobFields, type FieldName, type FormValues } from "../job.fields.ts";

export interface FieldConflict {
  name: FieldName;
  base: string;
  mine: string;
  theirs: string;
}

interface MergeResult {
  /** The user's own values for fields that they changed, otherwise the others' values. */
  values: FormValues;
  /** Fields that both sides changed to different values. */
  conflicts: FieldConflict[];
  changedByOthers: FieldName[];
}

export function rebase(base: FormValues, mine: FormValues, theirs: FormValues): MergeResult {
  const names = jobFields.map(({ name }) => name);
  const isMine = (name: FieldName): boolean => mine[name] !== base[name];
  const isTheirs = (name: FieldName): boolean => theirs[name] !== base[name];
  return {
    values: Object.fromEntries(
      names.map((name) => [name, isMine(name) ? mine[name] : theirs[name]]),
    ) as FormValues,
    conflicts: names
      .filter((name) => isMine(name) && isTheirs(name) && mine[name] !== theirs[name])
      .map((name) => ({ name, base: base[name], mine: mine[name], theirs: theirs[name] })),
    changedByOthers: names.filter(isTheirs),
  };
}
