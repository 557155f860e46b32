/** Which fields are to change, and to what. */
import { useState } from "react";
import type { JobPatch } from "../../generated/edit-many.ts";
import { checkInputs, fieldOf, jobFields, patchOf, type FieldName, type FormValues } from "./job.fields.ts";

export interface FieldChoice {
  names: readonly FieldName[];
  values: FormValues;
  /** Fields that are to lose their value. */
  cleared: ReadonlySet<FieldName>;
  problems: Partial<Record<FieldName, string>>;
  add: (name: FieldName) => void;
  remove: (name: FieldName) => void;
  set: (name: FieldName, value: string) => void;
  clear: (name: FieldName, isCleared: boolean) => void;
  /** Null where an input makes no sense: `problems` say why. */
  toPatch: () => JobPatch | null;
}

interface State {
  names: readonly FieldName[];
  values: FormValues;
  cleared: ReadonlySet<FieldName>;
  problems: Partial<Record<FieldName, string>>;
}

const nothingChosen: State = {
  names: [],
  values: Object.fromEntries(
    jobFields.map(({ name, kind }) => [name, kind === "flag" ? "false" : ""]),
  ) as FormValues,
  cleared: new Set(),
  problems: {},
};

export function useFieldChoice(): FieldChoice {
  const [state, setState] = useState(nothingChosen);
  const change = (difference: (former: State) => Partial<State>): void =>
    setState((former) => ({ ...former, problems: {}, ...difference(former) }));
  return {
    ...state,
    add: (name) => change(({ names }) => ({ names: [...names, name] })),
    remove: (name) => change(({ names }) => ({ names: names.filter((other) => other !== name) })),
    set: (name, value) => change(({ values }) => ({ values: { ...values, [name]: value } })),
    clear: (name, isCleared) =>
      change(({ cleared }) => ({
        cleared: isCleared ? cleared.union(new Set([name])) : cleared.difference(new Set([name])),
      })),
    toPatch() {
      const problems = problemsOf(state);
      setState((former) => ({ ...former, problems }));
      if (Object.keys(problems).length > 0) return null;
      const values = Object.fromEntries(
        state.names.map((name) => [name, state.cleared.has(name) ? "" : state.values[name]]),
      ) as FormValues;
      return patchOf(state.names, values);
    },
  };
}

/** An input left empty is no wish to clear: with many jobs that has to be said. */
function problemsOf({ names, values, cleared }: State): Partial<Record<FieldName, string>> {
  const given = names.filter((name) => !cleared.has(name));
  const missing = given
    .filter((name) => values[name].trim() === "")
    .map((name) => [name, emptySentence(name)] as const);
  return { ...checkInputs(given, values), ...Object.fromEntries(missing) };
}

function emptySentence(name: FieldName): string {
  const field = fieldOf(name);
  return field?.isRequired
    ? `Choose a ${field.label.toLowerCase()}`
    : "Give a value, or say that it is to be cleared";
}
