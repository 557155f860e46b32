/** The effect of a change on late jobs, before it is made. */
import { formatCount } from "../../../app/formats.ts";
import { List, Text } from "@mantine/core";
import { Alert } from "../../../components/status/alert.tsx";
import { useToday } from "../../../app/session/zone.ts";
import { compareLateness, type LatenessRow } from "./lateness.ts";

export function LatenessSummary({ rows }: { rows: readonly LatenessRow[] }) {
  const { noLonger, newly, still, reasons, finished } = compareLateness(rows, useToday());
  const parts = [
    noLonger > 0 && `${noLonger} no longer late`,
    newly > 0 && `${newly} newly late`,
    still > 0 && `${still} still late`,
  ].filter((part) => part !== false);
  return (
    <Alert
      color={newly + still > 0 ? "amber" : "spruce"}
      title={parts.length > 0 ? parts.join(", ") : "No job is late before or after this change"}
      guide="screen"
    >
      {reasons.length > 0 && (
        <List size="sm" aria-label="Why jobs are late">
          {reasons.map(({ reason, count }) => (
            <List.Item key={reason}>
              {count}: {reason}
            </List.Item>
          ))}
        </List>
      )}
      {finished > 0 && (
        <Text fz="sm">
          {formatCount(finished, "job is", "jobs are")} finished. Finished jobs are never late.
        </Text>
      )}
    </Alert>
  );
}
