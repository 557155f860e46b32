/** The Marking Numbers of a pasted list that were not found. */
import { Text } from "@mantine/core";
import { FirstLines } from "../../../components/display/clamped.tsx";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import classes from "./jobs.module.css";

/** About three lines. */
const MAX_HEIGHT_PX = 66;

export function MissingNumbers({ missing }: { missing: readonly string[] }) {
  return (
    <>
      <CopyButton value={missing.join("\n")} label="those not found" />
      <FirstLines maxHeightPx={MAX_HEIGHT_PX} lessLabel="Show fewer">
        <Text fz="sm" className={classes.missing}>
          Not found: {missing.join(", ")}
        </Text>
      </FirstLines>
    </>
  );
}
