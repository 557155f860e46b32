/** What can be done with the jobs that are ticked. */
import { Button, Group, Paper, Text } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { counted } from "./job.words.ts";
import classes from "./jobs.module.css";

/** What one `updateJobs` takes. */
const MOST_AT_ONCE = 100;

interface SelectionBarProps {
  count: number;
  onEdit: () => void;
  onClear: () => void;
}

export function SelectionBar({ count, onEdit, onClear }: SelectionBarProps) {
  if (count === 0) return null;
  const tooMany = count - MOST_AT_ONCE;
  return (
    <Paper component="section" aria-label="Selected jobs" className={classes.bar}>
      <div aria-live="polite">
        <Text component="span" fw={600}>
          {counted(count, "job")} selected
        </Text>
        {tooMany > 0 && (
          <Text fz="sm" c="dimmed">
            {MOST_AT_ONCE} can be edited at once: take {tooMany} away, or edit them in turns.
          </Text>
        )}
      </div>
      <Group gap="xs">
        <Button variant="default" onClick={onClear}>
          Clear
        </Button>
        <Button
          leftSection={<IconPencil size={16} aria-hidden="true" />}
          disabled={tooMany > 0}
          onClick={onEdit}
        >
          Edit
        </Button>
      </Group>
    </Paper>
  );
}
