/** Lists of jobs in a preview or report. */
import { Stack, Text } from "@mantine/core";
import { formatCount, formatNumber } from "../../../app/formats.ts";
import { Collapsible } from "../../../components/display/collapsible.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { Alert } from "../../../components/status/alert.tsx";
import type { Refusal } from "./plan.ts";

/** More would make the page slow. */
export const MAX_SHOWN = 100;

/** Links to jobs, in a new tab because the report would be lost. */
function JobLinks({ markingNumbers }: { markingNumbers: readonly string[] }) {
  const more = markingNumbers.length - MAX_SHOWN;
  return (
    <Text component="div" fz="sm" style={{ overflowWrap: "anywhere" }}>
      {markingNumbers.slice(0, MAX_SHOWN).map((markingNumber, index) => (
        <span key={markingNumber}>
          {index > 0 && ", "}
          <TextLink to="/jobs/$markingNumber" params={{ markingNumber }} target="_blank" fz="inherit">
            {markingNumber}
          </TextLink>
        </span>
      ))}
      {more > 0 && ` and ${formatNumber(more)} more`}
    </Text>
  );
}

/** "Not tried: 12", which expands to the links of these jobs. */
export function JobGroup({ title, markingNumbers }: { title: string; markingNumbers: readonly string[] }) {
  if (markingNumbers.length === 0) return null;
  return (
    <Collapsible title={`${title}: ${formatNumber(markingNumbers.length)}`}>
      <JobLinks markingNumbers={markingNumbers} />
    </Collapsible>
  );
}

/** The refused jobs by reason. */
export function RefusedJobs({ refused, title }: { refused: readonly Refusal[]; title: string }) {
  if (refused.length === 0) return null;
  const total = refused.reduce((sum, { markingNumbers }) => sum + markingNumbers.length, 0);
  return (
    <Alert color="amber" title={`${formatCount(total, "job")} ${title}`} guide="screen">
      <Stack component="ul" gap={6} m={0} ps="md">
        {refused.map(({ problem, markingNumbers }) => (
          <li key={problem}>
            <strong>{formatNumber(markingNumbers.length)}</strong>: {problem}
            <JobLinks markingNumbers={markingNumbers} />
          </li>
        ))}
      </Stack>
    </Alert>
  );
}
