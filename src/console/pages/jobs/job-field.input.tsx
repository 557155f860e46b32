/** The right input for a field of a job: a menu, a day, a number, a line or several. All of them hold text. */
import { Checkbox, Select, Textarea, TextInput } from "@mantine/core";
import type { ComponentType } from "react";
import { CATEGORY_LABELS } from "./job.category.ts";
import type { FieldKind, JobField } from "./job.fields.ts";
import type { InputParts } from "./input.parts.ts";
import { CATEGORIES } from "./jobs.search.ts";
import { ReasonInput } from "./reason.input.tsx";
import type { Choice, Choices } from "./use-choices.ts";

interface JobFieldInputProps {
  field: JobField;
  value: string;
  onChange: (value: string) => void;
  choices: Choices;
  error?: string | undefined;
  disabled?: boolean;
}

export function JobFieldInput({ field, error, disabled = false, ...rest }: JobFieldInputProps) {
  const Input = INPUTS[field.kind];
  return <Input {...rest} label={field.label} error={error} disabled={disabled} />;
}

const INPUTS: Record<FieldKind, ComponentType<InputParts>> = {
  status: StatusInput,
  reason: ReasonInput,
  flag: FlagInput,
  date: DateInput,
  integer: WholeNumberInput,
  number: NumberInput,
  text: LineInput,
  "long-text": TextBlockInput,
};

function StatusInput({ choices, value, onChange, ...input }: InputParts) {
  return (
    <Select
      {...input}
      searchable
      allowDeselect={false}
      nothingFoundMessage="There is no such status"
      data={statusChoices(choices, value)}
      value={value === "" ? null : value}
      onChange={(code) => onChange(code ?? "")}
    />
  );
}

function statusChoices({ statuses }: Choices, value: string): { group: string; items: Choice[] }[] {
  const groups = CATEGORIES.map((category) => ({
    group: CATEGORY_LABELS[category],
    items: statuses
      .filter((status) => status.category === category)
      .map(({ code, label }) => ({ value: code, label })),
  })).filter(({ items }) => items.length > 0);
  const isKnown = value === "" || statuses.some(({ code }) => code === value);
  return isKnown ? groups : [{ group: "Now", items: [{ value, label: value }] }, ...groups];
}

function FlagInput({ choices: _choices, value, onChange, ...input }: InputParts) {
  return (
    <Checkbox
      {...input}
      mt={6}
      checked={value === "true"}
      onChange={({ currentTarget }) => onChange(String(currentTarget.checked))}
    />
  );
}

function LineInput({ choices: _choices, onChange, ...input }: InputParts) {
  return (
    <TextInput
      {...input}
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function WholeNumberInput({ choices: _choices, onChange, ...input }: InputParts) {
  return (
    <TextInput
      {...input}
      inputMode="numeric"
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function NumberInput({ choices: _choices, onChange, ...input }: InputParts) {
  return (
    <TextInput
      {...input}
      inputMode="decimal"
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function DateInput({ choices: _choices, onChange, ...input }: InputParts) {
  return (
    <TextInput
      {...input}
      type="date"
      max="9999-12-31"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function TextBlockInput({ choices: _choices, onChange, ...input }: InputParts) {
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
