/** Sending a form: busy while it is on its way, and whatever was wrong told where it belongs. */
import type { UseFormReturnType } from "@mantine/form";
import { useState } from "react";
import { fieldErrors } from "../api/client.ts";
import { describeError } from "../api/describe-error.ts";
import { useDialogControl, useUnsavedInput } from "./unsaved-changes.tsx";
import { userErrorsByField } from "../api/user-errors.ts";

interface SubmitState<Values> {
  isBusy: boolean;
  /** About the form as a whole; null: nothing. */
  failure: string | null;
  /** For the form's `onSubmit`. */
  onSubmit: (values: Values) => void;
  /** For its second place: what the form finds wrong itself gets the focus too. */
  onInvalid: () => void;
}

/**
 * `send` throws where it is refused: what is about a field goes to the field, the rest to `failure`.
 * A dialog around the form does not close while it is busy, and asks while it is changed.
 */
export function useSubmit<Values extends Record<string, unknown>>(
  form: UseFormReturnType<Values>,
  send: (values: Values) => Promise<void>,
): SubmitState<Values> {
  const [state, setState] = useState<{ isBusy: boolean; failure: string | null }>({
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
      const wrong = Object.entries({ ...fieldErrors(error), ...userErrorsByField(error, values) });
      const known = wrong.filter(([field]) => Object.hasOwn(values, field));
      form.setErrors(Object.fromEntries(known));
      const isToldByFields = wrong.length > 0 && known.length === wrong.length;
      setState({ isBusy: false, failure: isToldByFields ? null : describeError(error).message });
      focusFirstError();
    }
  };
  return { ...state, onSubmit: (values) => void submit(values), onInvalid: focusFirstError };
}

/** Once the errors are drawn. */
export function focusFirstError(): void {
  const invalid = "form :is(input, textarea, select)[aria-invalid=true]";
  requestAnimationFrame(() => document.querySelector<HTMLElement>(invalid)?.focus());
}
