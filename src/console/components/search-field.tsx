/** An input whose text goes into the address, once the typing pauses. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";

interface SearchFieldProps extends Omit<TextInputProps, "value" | "onChange"> {
  value: string;
  onSettled: (value: string) => void;
}

const PAUSE_MS = 300;

export function SearchField({ value, onSettled, ...input }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const [sent, setSent] = useState(value);
  const [known, setKnown] = useState(value);
  if (value !== known) {
    setKnown(value);
    // The address changed by another way: a filter was removed, or somebody went back. What was sent takes a moment to
    // stand in it, and must not be taken for that meanwhile.
    if (value !== sent) {
      setSent(value);
      setTyped(value);
    }
  }
  const settle = useDebouncedCallback((text: string) => {
    setSent(text);
    onSettled(text);
  }, PAUSE_MS);
  return (
    <TextInput
      {...input}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        settle(currentTarget.value.trim());
      }}
    />
  );
}
