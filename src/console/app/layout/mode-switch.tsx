/** Switches the whole console between live and test mode. */
import { SegmentedControl } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { useMode } from "../session/session.ts";
import type { Mode } from "../session/mode.ts";
import { useSwitchMode } from "../session/use-switch-mode.ts";
import classes from "./mode-switch.module.css";

const modes: { value: Mode; label: string }[] = [
  { value: "live", label: "Live" },
  { value: "test", label: "Test" },
];

export function ModeSwitch() {
  const mode = useMode();
  const switchMode = useSwitchMode();
  const openPage = useOpenPageOfMode();
  const change = async (next: Mode): Promise<void> => {
    if (await switchMode(next)) await openPage(next);
  };
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

/** Stays on the page without its filters. From a page of one object it opens the list, and from one of the other mode the dashboard. */
function useOpenPageOfMode(): (mode: Mode) => Promise<void> {
  const router = useRouter();
  return async (mode) => {
    const { matches } = router.state;
    const page = matches.at(-1);
    const isOfMode = matches.every(({ staticData }) => (staticData.onlyIn ?? mode) === mode);
    const isOfOneObject = /\/\$\w+$/.test(page?.fullPath ?? "");
    const path = page?.pathname ?? "/";
    const to = !isOfMode ? "/" : isOfOneObject ? path.slice(0, path.lastIndexOf("/")) : path;
    await router.navigate({ to, search: {}, ignoreBlocker: true });
  };
}
