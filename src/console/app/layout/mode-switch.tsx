/** Switches the whole console between live and test mode. */
import { SegmentedControl } from "@mantine/core";
import { useMode } from "../session/session.ts";
import type { Mode } from "../session/mode.ts";
import { useChangeMode } from "./use-change-mode.ts";
import classes from "./mode-switch.module.css";

const modes: { value: Mode; label: string }[] = [
  { value: "live", label: "Live" },
  { value: "test", label: "Test" },
];

export function ModeSwitch() {
  const mode = useMode();
  const change = useChangeMode();
  return (
    <SegmentedControl
      fullWidth
      size="sm"
      aria-label="Mode"
      className={classes.root ?? ""}
      {...(mode === "test" && { color: "violet" })}
      value={mode}
      onChange={(value) => void change(value)}
      data={modes}
    />
  );
}
