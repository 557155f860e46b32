/** How many of the Marking Numbers in a pasted list were found, and which were not. */
import { formatNumber } from "../../../app/formats.ts";
import { Group, Spoiler, Text } from "@mantine/core";
import type { JobsPageQuery } from "../../../generated/jobs.ts";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import classes from "./jobs.module.css";

type Listed = NonNullable<JobsPageQuery["jobs"]>["listedNumbers"];

/** About three lines. */
const MAX_HEIGHT_PX = 66;

export function ListedNumbers({ listed }: { listed: Listed }) {
  const missing = listed?.notFound ?? [];
  return (
    <div role="status" className={classes.listed}>
      {listed && (
        <Group gap="xs" align="center">
          <Text fz="sm">
            {formatNumber(listed.count - missing.length)} of {formatNumber(listed.count)} Marking Numbers
            found
            {missing.length > 0 && `, ${formatNumber(missing.length)} not`}
          </Text>
          {missing.length > 0 && <CopyButton value={missing.join("\n")} label="those not found" />}
        </Group>
      )}
      {missing.length > 0 && (
        <Spoiler maxHeight={MAX_HEIGHT_PX} showLabel="Show all" hideLabel="Show fewer">
          <Text fz="sm" className={classes.missing}>
            Not found: {missing.join(", ")}
          </Text>
        </Spoiler>
      )}
    </div>
  );
}
