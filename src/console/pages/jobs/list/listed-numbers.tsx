/** How many of the Marking Numbers in a pasted list were found, and which were not. */
import { formatNumber } from "../../../app/formats.ts";
import { Group, Text } from "@mantine/core";
import type { JobsPageQuery } from "../../../generated/jobs.ts";
import { later } from "../../../app/later.tsx";
import classes from "./jobs.module.css";

type Listed = NonNullable<JobsPageQuery["jobs"]>["listedNumbers"];

const MissingNumbers = later(async () => (await import("./missing-numbers.tsx")).MissingNumbers);

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
        </Group>
      )}
      {missing.length > 0 && <MissingNumbers missing={missing} />}
    </div>
  );
}
