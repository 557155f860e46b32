/** An input for the failure reason. Suggests codes and accepts any text. */
import { Autocomplete, Text } from "@mantine/core";
import type { FieldInputProps } from "./field-input.props.ts";
import type { ReferenceData } from "./use-reference-data.ts";

const NEXT_STEP_LABELS = {
  RETRY: "retry delivery",
  ACTION: "resolve the problem first",
  RETURN: "return to sender",
} as const;

export function FailureReasonInput({ referenceData, ...input }: FieldInputProps) {
  const reasons = new Map(referenceData.reasons.map((reason) => [reason.code, reason]));
  return (
    <Autocomplete
      {...input}
      description={descriptionOf(reasons.get(input.value))}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${input.label.toLowerCase()}` }}
      data={[...reasons.keys()]}
      maxDropdownHeight={260}
      renderOption={({ option }) => (
        <span>
          <Text component="span" display="block" fz="sm">
            {reasons.get(option.value)?.label ?? option.value}
          </Text>
          <Text component="span" display="block" fz="xs" c="dimmed">
            {option.value}
          </Text>
        </span>
      )}
    />
  );
}

function descriptionOf(reason: ReferenceData["reasons"][number] | undefined): string {
  return reason
    ? `${reason.label}: ${NEXT_STEP_LABELS[reason.nextStep]}`
    : "Choose a reason, or enter your own text";
}
