/** The input for a job field, by its kind. All inputs hold text. */
import { Checkbox, Select, Textarea, TextInput } from "@mantine/core";
import type { ComponentType } from "react";
import { CATEGORY_LABELS } from "./job.category.ts";
import type { FieldKind, JobField } from "./job.fields.ts";
import type { FieldInputProps } from "./field-input.props.ts";
import { CATEGORIES } from "./filters/jobs.search.ts";
import { FailureReasonInput } from "./failure-reason.input.tsx";
import type { SelectOption, ReferenceData } from "./use-reference-data.ts";

interface JobFieldInputProps {
  field: JobField;
  value: string;
  onChange: (value: string) => void;
  referenceData: ReferenceData;
  error?: string | undefined;
  description?: string | undefined;
  disabled?: boolean;
}

export function JobFieldInput({ field, error, description, disabled = false, ...rest }: JobFieldInputProps) {
  const Input = INPUTS[field.kind];
  return <Input {...rest} label={field.label} error={error} description={description} disabled={disabled} />;
}

const INPUTS: Record<FieldKind, ComponentType<FieldInputProps>> = {
  status: StatusInput,
  reason: FailureReasonInput,
  flag: FlagInput,
  date: DateInput,
  integer: IntegerInput,
  number: NumberInput,
  text: SingleLineInput,
  "long-text": MultiLineInput,
};

function StatusInput({ referenceData, value, onChange, ...input }: FieldInputProps) {
  return (
    <Select
      {...input}
      searchable
      allowDeselect={false}
      nothingFoundMessage="No matching status"
      data={statusOptions(referenceData, value)}
      value={value === "" ? null : value}
      onChange={(code) => onChange(code ?? "")}
    />
  );
}

function statusOptions(
  { statuses }: ReferenceData,
  value: string,
): { group: string; items: SelectOption[] }[] {
  const groups = CATEGORIES.map((category) => ({
    group: CATEGORY_LABELS[category],
    items: statuses
      .filter((status) => status.category === category)
      .map(({ code, label }) => ({ value: code, label })),
  })).filter(({ items }) => items.length > 0);
  const isKnown = value === "" || statuses.some(({ code }) => code === value);
  return isKnown ? groups : [{ group: "Current", items: [{ value, label: value }] }, ...groups];
}

function FlagInput({ referenceData: _referenceData, value, onChange, ...input }: FieldInputProps) {
  return (
    <Checkbox
      {...input}
      mt={6}
      checked={value === "true"}
      onChange={({ currentTarget }) => onChange(String(currentTarget.checked))}
    />
  );
}

function SingleLineInput({ referenceData: _referenceData, onChange, ...input }: FieldInputProps) {
  return (
    <TextInput
      {...input}
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function IntegerInput({ referenceData: _referenceData, onChange, ...input }: FieldInputProps) {
  return (
    <TextInput
      {...input}
      inputMode="numeric"
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function NumberInput({ referenceData: _referenceData, onChange, ...input }: FieldInputProps) {
  return (
    <TextInput
      {...input}
      inputMode="decimal"
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function DateInput({ referenceData: _referenceData, onChange, ...input }: FieldInputProps) {
  return (
    <TextInput
      {...input}
      type="date"
      max="9999-12-31"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function MultiLineInput({ referenceData: _referenceData, onChange, ...input }: FieldInputProps) {
  return (
    <Textarea
      {...input}
      autosize
      minRows={2}
      maxRows={6}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
