/** The keys of the console, and a switch that turns single keys off. */
import { Kbd, Stack, Switch } from "@mantine/core";
import { Fragment } from "react";
import { PALETTE_KEYS, turnSingleKeys, useSingleKeysOn } from "../interaction/keys.ts";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import classes from "./palette.module.css";

const KEYS: readonly [keys: readonly string[], action: string][] = [
  [PALETTE_KEYS, "Search jobs, pages and actions"],
  [["/"], "Search this list"],
  [["j", "k"], "Next and previous row, or job of the list"],
  [["x"], "Select the row"],
  [["Enter"], "Open the row"],
  [["?"], "Show these keys"],
];

export function KeysDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const areOn = useSingleKeysOn();
  return (
    <Dialog opened={isOpen} onClose={onClose} title="Keyboard shortcuts">
      <Stack>
        <dl className={classes.keys}>
          {KEYS.map(([keys, action]) => (
            <Fragment key={action}>
              <dt>{action}</dt>
              <dd>
                {keys.map((key) => (
                  <Kbd key={key}>{key}</Kbd>
                ))}
              </dd>
            </Fragment>
          ))}
        </dl>
        <Switch
          label="Single keys"
          description="Turn them off if you use speech input or press keys by accident. Ctrl or Cmd with K always works."
          checked={areOn}
          onChange={({ currentTarget }) => turnSingleKeys(currentTarget.checked)}
        />
      </Stack>
    </Dialog>
  );
}
