/** An input whose text goes into the address, once the typing pauses. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";

interface SearchFieldProps extends Omit<TextInputProps, "value" | "onChange"> {
  value: string;
  onDebouncedChange: (value: string) => void;
}

const DEBOUNCE_MS = 300;

export function SearchField({ value, onDebouncedChange, ...input }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const [emittedValue, setEmittedValue] = useState(value);
  const [previousValue, setPreviousValue] = useState(value);
  if (value !== previousValue) {
    setPreviousValue(value);
    // The address changed by another way: a filter was removed, or somebody went back. What was sent takes a moment to
    // stand in it, and must not be taken for that meanwhile.
    if (value !== emittedValue) {
      setEmittedValue(value);
      setTyped(value);
    }
  }
  const emitDebounced = useDebouncedCallback((text: string) => {
    setEmittedValue(text);
    onDebouncedChange(text);
  }, DEBOUNCE_MS);
  return (
    <TextInput
      {...input}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        emitDebounced(currentTarget.value.trim());
      }}
    />
  );
}
