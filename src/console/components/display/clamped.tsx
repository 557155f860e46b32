/** A text of any length: of a long one the first lines, until the user asks for all of it. */
import { Anchor } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type ReactNode, useState } from "react";

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
  return <FirstLines maxHeightPx={MAX_HEIGHT_PX}>{children}</FirstLines>;
}

interface FirstLinesProps {
  maxHeightPx: number;
  lessLabel?: string;
  children: ReactNode;
}

/** What is higher than `maxHeightPx` is shown once the user asks. Mantine's Spoiler would make it a region without a name. */
export function FirstLines({ maxHeightPx, lessLabel = "Show less", children }: FirstLinesProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { ref, height } = useElementSize();
  return (
    <>
      <div style={{ overflow: "hidden", maxHeight: isOpen ? undefined : maxHeightPx }}>
        <div ref={ref}>{children}</div>
      </div>
      {height > maxHeightPx && (
        <Anchor component="button" type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? lessLabel : "Show all"}
        </Anchor>
      )}
    </>
  );
}
