/** The fields to change in a bulk edit, and their new values. */
import { useState } from "react";
import type { JobPatch } from "../../../generated/bulk-edit.ts";
import {
  validateInputs,
  findField,
  jobFields,
  buildPatch,
  type FieldName,
  type FormValues,
} from "../job.fields.ts";

export interface FieldEditor {
  names: readonly FieldName[];
  values: FormValues;
  /** Fields whose value will be removed. */
  cleared: ReadonlySet<FieldName>;
  problems: Partial<Record<FieldName, string>>;
  add: (name: FieldName) => void;
  remove: (name: FieldName) => void;
  set: (name: FieldName, value: string) => void;
  clear: (name: FieldName, isCleared: boolean) => void;
  /** Null if an input is invalid; `problems` then has the messages. */
  toPatch: () => JobPatch | null;
}

interface FieldEditorState {
  names: readonly FieldName[];
  values: FormValues;
  cleared: ReadonlySet<FieldName>;
  problems: Partial<Record<FieldName, string>>;
}

const emptyFieldEditor: FieldEditorState = {
  names: [],
  values: Object.fromEntries(
    jobFields.map(({ name, kind }) => [name, kind === "flag" ? "false" : ""]),
  ) as FormValues,
  cleared: new Set(),
  problems: {},
};

export function useFieldEditor(): FieldEditor {
  const [state, setState] = useState(emptyFieldEditor);
  const updateState = (difference: (former: FieldEditorState) => Partial<FieldEditorState>): void =>
    setState((former) => ({ ...former, problems: {}, ...difference(former) }));
  return {
    ...state,
    add: (name) => updateState(({ names }) => ({ names: [...names, name] })),
    remove: (name) => updateState(({ names }) => ({ names: names.filter((other) => other !== name) })),
    set: (name, value) => updateState(({ values }) => ({ values: { ...values, [name]: value } })),
    clear: (name, isCleared) =>
      updateState(({ cleared }) => ({
        cleared: isCleared ? cleared.union(new Set([name])) : cleared.difference(new Set([name])),
      })),
    toPatch() {
      const problems = validateFields(state);
      setState((former) => ({ ...former, problems }));
      if (Object.keys(problems).length > 0) return null;
      const values = Object.fromEntries(
        state.names.map((name) => [name, state.cleared.has(name) ? "" : state.values[name]]),
      ) as FormValues;
      return buildPatch(state.names, values);
    },
  };
}

/** An empty input is an error here: clearing a field of many jobs must be explicit. */
function validateFields({ names, values, cleared }: FieldEditorState): Partial<Record<FieldName, string>> {
  const given = names.filter((name) => !cleared.has(name));
  const missing = given
    .filter((name) => values[name].trim() === "")
    .map((name) => [name, missingValueMessage(name)] as const);
  return { ...validateInputs(given, values), ...Object.fromEntries(missing) };
}

function missingValueMessage(name: FieldName): string {
  const field = findField(name);
  return field?.isRequired
    ? `Choose a ${field.label.toLowerCase()}`
    : "Enter a value, or select “Clear this field”";
}
