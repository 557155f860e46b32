/** What can be done with the jobs that are ticked. */
import { Button, Group, Paper, Text } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { formatCount } from "../job.labels.ts";
import classes from "./jobs.module.css";

/** What one `updateJobs` takes. */
const MAX_BULK_EDIT_JOBS = 100;

interface SelectionBarProps {
  count: number;
  onEdit: () => void;
  onClear: () => void;
}

export function SelectionBar({ count, onEdit, onClear }: SelectionBarProps) {
  if (count === 0) return null;
  const excess = count - MAX_BULK_EDIT_JOBS;
  return (
    <Paper component="section" aria-label="Selected jobs" className={classes.bar}>
      <div aria-live="polite">
        <Text component="span" fw={600}>
          {formatCount(count, "job")} selected
        </Text>
        {excess > 0 && (
          <Text fz="sm" c="dimmed">
            {MAX_BULK_EDIT_JOBS} can be edited at once: take {excess} away, or edit them in turns.
          </Text>
        )}
      </div>
      <Group gap="xs">
        <Button variant="default" onClick={onClear}>
          Clear
        </Button>
        <Button
          leftSection={<IconPencil size={16} aria-hidden="true" />}
          disabled={excess > 0}
          onClick={onEdit}
        >
          Edit
        </Button>
      </Group>
    </Paper>
  );
}
