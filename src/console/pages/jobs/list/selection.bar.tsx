/** Actions on the selected jobs, and the offer to select all that match. */
import { Anchor, Button } from "@mantine/core";
import { IconCalendarEvent, IconPencil } from "@tabler/icons-react";
import { formatCount, formatNumber } from "../../../app/formats.ts";
import { SelectionBar } from "../../../components/tables/selection.tsx";
import type { Selection } from "../../../components/tables/use-selection.ts";
import type { JobsPageState } from "./use-jobs-page.ts";

interface JobSelectionBarProps {
  selection: Selection;
  page: JobsPageState["page"];
  hasFilters: boolean;
  onEdit: () => void;
  onReschedule: () => void;
}

export function JobSelectionBar({ selection, page, hasFilters, onEdit, onReschedule }: JobSelectionBarProps) {
  const { selected, isAll } = selection;
  const total = page?.totalCount ?? 0;
  const count = isAll ? total : selected.size;
  const isPageSelected = page?.nodes.every(({ markingNumber }) => selected.has(markingNumber)) ?? false;
  const matching = hasFilters ? "that match" : "jobs";
  return (
    <SelectionBar
      noun="jobs"
      count={count}
      countText={formatCount(count, "job")}
      advice={
        isAll
          ? `All ${matching}, on every page.`
          : isPageSelected &&
            total > selected.size && (
              <Anchor component="button" type="button" fz="sm" onClick={selection.selectAll}>
                Select all {formatNumber(total)} {matching}
              </Anchor>
            )
      }
      onClear={selection.clear}
    >
      <Button
        variant="default"
        leftSection={<IconCalendarEvent size={16} aria-hidden="true" />}
        onClick={onReschedule}
      >
        Reschedule
      </Button>
      <Button leftSection={<IconPencil size={16} aria-hidden="true" />} onClick={onEdit}>
        Edit
      </Button>
    </SelectionBar>
  );
}
