/** Somebody else changed the job while one was editing it: what of it stands, and what both have touched. */
import { jobFields, type FieldName, type FormValues } from "../job.fields.ts";

export interface FieldConflict {
  name: FieldName;
  base: string;
  mine: string;
  theirs: string;
}

interface MergeResult {
  /** Theirs where one has changed nothing, one's own where one has. */
  values: FormValues;
  /** Changed by both, to different values. */
  conflicts: FieldConflict[];
  /** Changed by the others, in whatever field. */
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
