/** Why a job failed or waits: any text is taken, the catalogue is advice. */
import { Autocomplete, Text } from "@mantine/core";
import type { FieldInputProps } from "./field-input.props.ts";
import type { ReferenceData } from "./use-reference-data.ts";

const NEXT_STEP_LABELS = {
  RETRY: "try again",
  ACTION: "mend something first",
  RETURN: "bring it back",
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

function descriptionOf(known: ReferenceData["reasons"][number] | undefined): string {
  return known
    ? `${known.label}: ${NEXT_STEP_LABELS[known.nextStep]}`
    : "A code of the catalogue, or your own words";
}
