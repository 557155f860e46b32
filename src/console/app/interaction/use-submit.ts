/** Submits a form: tracks whether a request is in flight and shows errors at their fields. */
import type { UseFormReturnType } from "@mantine/form";
import { useState } from "react";
import { fieldErrors } from "../api/client.ts";
import { describeError, type Failure } from "../api/describe-error.ts";
import { useDialogControl, useUnsavedInput } from "./unsaved-changes.tsx";
import { userErrorsByField } from "../api/user-errors.ts";

interface SubmitState<Values> {
  isBusy: boolean;
  /** An error that belongs to no field; null if there is none. */
  failure: Failure | null;
  /** First argument of `form.onSubmit`. */
  onSubmit: (values: Values) => void;
  /** Second argument of `form.onSubmit`: focuses the first field that failed client-side validation. */
  onInvalid: () => void;
}

/**
 * `send` throws if the server rejects the form. Errors about fields go to the fields, others to `failure`. While
 * the form is busy, the dialog around it does not close; while it has changes, the dialog asks first.
 */
export function useSubmit<Values extends Record<string, unknown>>(
  form: UseFormReturnType<Values>,
  send: (values: Values) => Promise<void>,
): SubmitState<Values> {
  const [state, setState] = useState<{ isBusy: boolean; failure: Failure | null }>({
    isBusy: false,
    failure: null,
  });
  const isInDialog = useDialogControl() !== null;
  useUnsavedInput(() => {
    if (!isInDialog) return "clean";
    if (state.isBusy) return "locked";
    return form.isDirty() ? "changed" : "clean";
  });
  const submit = async (values: Values): Promise<void> => {
    setState({ isBusy: true, failure: null });
    try {
      await send(values);
      form.resetDirty();
      setState({ isBusy: false, failure: null });
    } catch (error) {
      const errors = Object.entries({ ...fieldErrors(error), ...userErrorsByField(error, values) });
      const shown = errors.filter(([field]) => Object.hasOwn(values, field));
      form.setErrors(Object.fromEntries(shown));
      const areAllShown = errors.length > 0 && shown.length === errors.length;
      setState({ isBusy: false, failure: areAllShown ? null : describeError(error) });
      focusFirstError();
    }
  };
  return { ...state, onSubmit: (values) => void submit(values), onInvalid: focusFirstError };
}

/** Focuses the first invalid field after the next render. */
export function focusFirstError(): void {
  const invalid = "form :is(input, textarea, select)[aria-invalid=true]";
  requestAnimationFrame(() => document.querySelector<HTMLElement>(invalid)?.focus());
}
