/** Actions on the selected jobs. */
import { Button } from "@mantine/core";
import { IconCalendarEvent, IconPencil } from "@tabler/icons-react";
import { formatCount } from "../../../app/formats.ts";
import { MAX_SELECTED, SelectionBar } from "../../../components/tables/selection.tsx";

interface JobSelectionBarProps {
  count: number;
  onEdit: () => void;
  onReschedule: () => void;
  onClear: () => void;
}

export function JobSelectionBar({ count, onEdit, onReschedule, onClear }: JobSelectionBarProps) {
  const excess = count - MAX_SELECTED;
  return (
    <SelectionBar
      noun="jobs"
      count={count}
      countText={formatCount(count, "job")}
      advice={`You can change up to ${MAX_SELECTED} jobs at once. Deselect ${excess} or change them in batches.`}
      onClear={onClear}
    >
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
    </SelectionBar>
  );
}
