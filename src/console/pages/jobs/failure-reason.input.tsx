/** An input for the failure reason. Suggests reasons by their labels and accepts any text. */
import { Autocomplete } from "@mantine/core";
import type { FieldInputProps } from "./field-input.props.ts";
import type { ReferenceData } from "./use-reference-data.ts";

const NEXT_STEP_LABELS = {
  RETRY: "Usual next step: retry delivery",
  ACTION: "Usual next step: resolve the problem first",
  RETURN: "Usual next step: return to sender",
} as const;

export function FailureReasonInput({ referenceData, value, onChange, ...input }: FieldInputProps) {
  const { reasons } = referenceData;
  const reason = reasons.find(({ code }) => code === value);
  return (
    <Autocomplete
      {...input}
      description={input.description ?? describe(reason)}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${input.label.toLowerCase()}` }}
      data={reasons.map(({ label }) => label)}
      maxDropdownHeight={260}
      value={reason?.label ?? value}
      onChange={(text) => onChange(reasons.find(({ label }) => label === text)?.code ?? text)}
    />
  );
}

function describe(reason: ReferenceData["reasons"][number] | undefined): string {
  return reason ? NEXT_STEP_LABELS[reason.nextStep] : "Choose a reason, or enter your own text";
}
