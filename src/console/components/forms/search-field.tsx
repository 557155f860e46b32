/** A text input that reports its value once typing pauses, for filters in the URL. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";

interface SearchFieldProps extends Omit<TextInputProps, "value" | "onChange"> {
  value: string;
  onDebouncedChange: (value: string) => void;
}

const DEBOUNCE_MS = 300;
/** Browsers drop line breaks from a pasted list, or make them blanks, which can be part of an item. */
const LINE_ENDS = /[\r\n\t]+/;

export function SearchField({ value, onDebouncedChange, ...input }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const [emittedValue, setEmittedValue] = useState(value);
  const [previousValue, setPreviousValue] = useState(value);
  if (value !== previousValue) {
    setPreviousValue(value);
    // The URL changed in another way: a filter was removed, or the user went back. The emitted value reaches the URL
    // with a delay, so it must not overwrite what is being typed.
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
      spellCheck={false}
      {...input}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        emitDebounced(currentTarget.value.trim());
      }}
      onPaste={(event) => {
        const lines = event.clipboardData.getData("text").trim().split(LINE_ENDS);
        if (lines.length === 1) return;
        event.preventDefault();
        const field = event.currentTarget;
        field.setRangeText(lines.join(", "), field.selectionStart ?? 0, field.selectionEnd ?? 0, "end");
        setTyped(field.value);
        emitDebounced(field.value.trim());
      }}
    />
  );
}
