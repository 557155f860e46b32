/** The newest test jobs. Selecting one shows it in the other panels. */
import { formatNumber } from "../../app/formats.ts";
import { Group, Text } from "@mantine/core";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { Panel } from "../../components/layout/panel.tsx";
import { EmptyNote } from "../../components/status/empty-note.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { toneOf } from "../../components/status/tone.ts";
import { guide } from "../../app/guide/guide-pages.ts";
import classes from "./simulator.module.css";
import type { Simulator } from "./use-simulator.ts";

export function JobsPanel({ simulator: { jobs, jobCount, job } }: { simulator: Simulator }) {
  const list = jobs ?? [];
  return (
    <Panel
      title="Test jobs"
      actions={
        list.length > 0 && (
          <TextLink to="/jobs" fz="sm">
            View all {formatNumber(jobCount)}
          </TextLink>
        )
      }
    >
      {list.length === 0 ? (
        <EmptyNote guide={guide.createTestJobs}>No test jobs yet. Create one above.</EmptyNote>
      ) : (
        <ul className={classes.list}>
          {list.map(({ markingNumber, status, createdAt }) => (
            <li
              key={markingNumber}
              className={classes.row}
              data-selected={markingNumber === job?.markingNumber || undefined}
            >
              <Group justify="space-between" gap="xs">
                <TextLink
                  to="/simulator"
                  search={{ job: markingNumber }}
                  replace
                  resetScroll={false}
                  aria-current={markingNumber === job?.markingNumber ? "true" : undefined}
                  fz="sm"
                  fw={600}
                >
                  {markingNumber}
                </TextLink>
                <Group gap="xs">
                  <StatusBadge label={status.label} tone={toneOf(status.category)} />
                  <Text span c="dimmed" fz="xs">
                    <Timestamp value={createdAt} />
                  </Text>
                </Group>
              </Group>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
