/** Actions on the selected jobs. */
import { formatCount } from "../../../app/formats.ts";
import { Button, Group, Paper, Text } from "@mantine/core";
import { IconCalendarEvent, IconPencil } from "@tabler/icons-react";
import classes from "./jobs.module.css";

/** The API's limit for one `updateJobs` mutation. */
const MAX_BULK_EDIT_JOBS = 100;

interface SelectionBarProps {
  count: number;
  onEdit: () => void;
  onReschedule: () => void;
  onClear: () => void;
}

export function SelectionBar({ count, onEdit, onReschedule, onClear }: SelectionBarProps) {
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
            You can change up to {MAX_BULK_EDIT_JOBS} jobs at once. Deselect {excess} or change them in
            batches.
          </Text>
        )}
      </div>
      <Group gap="xs">
        <Button variant="default" onClick={onClear}>
          Clear selection{" "}
        </Button>
        <Button
          variant="default"
          leftSection={<IconCalendarEvent size={16} aria-hidden="true" />}
          disabled={excess > 0}
          onClick={onReschedule}
        >
          Reschedule
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
