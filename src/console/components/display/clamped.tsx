/** A text of any length: of a long one the first lines, until the user asks for all of it. */
import { Spoiler } from "@mantine/core";
import type { ReactNode } from "react";

/** Three lines. */
const MAX_HEIGHT_PX = 75;
/** No text is longer than three lines in the narrowest column that has fewer characters and lines. */
const SHORT_LENGTH = 90;
const SHORT_LINES = 3;

interface ClampedProps {
  /** All of the text, to decide whether it can be long. */
  text: string;
  /** Default: the text. */
  children?: ReactNode;
}

export function Clamped({ text, children = text }: ClampedProps) {
  if (text.length <= SHORT_LENGTH && text.split("\n").length <= SHORT_LINES) return children;
  return (
    <Spoiler maxHeight={MAX_HEIGHT_PX} showLabel="Show all" hideLabel="Show less">
      {children}
    </Spoiler>
  );
}
