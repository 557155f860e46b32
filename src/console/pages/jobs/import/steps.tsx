/** The progress through the steps of an import. */
import { Title } from "@mantine/core";
import { useEffect, useRef, type ReactNode } from "react";
import classes from "./import.module.css";

const steps = [
  { step: "file", label: "File" },
  { step: "mapping", label: "Columns" },
  { step: "preview", label: "Preview" },
  { step: "result", label: "Import" },
] as const;

export function ImportSteps({ current }: { current: (typeof steps)[number]["step"] }) {
  const currentIndex = steps.findIndex(({ step }) => step === current);
  return (
    <ol className={classes.steps} aria-label="Steps">
      {steps.map(({ step, label }, index) => (
        <li
          key={step}
          aria-current={index === currentIndex ? "step" : undefined}
          data-done={index < currentIndex || undefined}
        >
          <span className={classes.number} aria-hidden="true">
            {index + 1}
          </span>
          {label}
        </li>
      ))}
    </ol>
  );
}

/** The heading of a step. Takes the focus, because the focused button left with the previous step. */
export function StepTitle({ children }: { children: ReactNode }) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <Title order={2} ref={title} tabIndex={-1} style={{ outline: "none", overflowWrap: "anywhere" }}>
      {children}
    </Title>
  );
}
