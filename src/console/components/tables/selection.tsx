/** Selected rows of a table: a column of checkboxes, and a bar with the actions on them. */
import { Button, Checkbox, Group, Paper, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Column } from "./data-table.tsx";
import classes from "./selection.module.css";
import type { Selection } from "./use-selection.ts";

interface SelectionColumnOptions<Row> {
  selection: Selection;
  /** The rows of the page. */
  page: readonly Row[];
  /** The key of a row in the selection. */
  keyOf: (row: Row) => string;
  /** Names a row for screen readers. Default: its key. */
  labelOf?: (row: Row) => string;
  /** Default: every row. */
  canSelect?: (row: Row) => boolean;
}

/** A checkbox for each row, and one for the whole page. */
export function selectionColumn<Row>({
  selection,
  page,
  keyOf,
  labelOf = keyOf,
  canSelect = () => true,
}: SelectionColumnOptions<Row>): Column<Row> {
  const keys = page.filter(canSelect).map(keyOf);
  const count = keys.filter(selection.has).length;
  return {
    id: "select",
    header: "Select",
    isActions: true,
    headerContent: (
      <Checkbox
        size="xs"
        aria-label="Select all on this page"
        disabled={keys.length === 0}
        checked={count > 0 && count === keys.length}
        indeterminate={count > 0 && count < keys.length}
        onChange={() => selection.togglePage(keys)}
      />
    ),
    cell: (row) => (
      <Checkbox
        size="xs"
        className={classes.tick}
        aria-label={`Select ${labelOf(row)}`.trim()}
        disabled={!canSelect(row)}
        checked={selection.has(keyOf(row))}
        onChange={({ nativeEvent }) =>
          "shiftKey" in nativeEvent && nativeEvent.shiftKey === true
            ? selection.toggleRange(keyOf(row), keys)
            : selection.toggle(keyOf(row), keys)
        }
      />
    ),
  };
}

interface SelectionBarProps {
  /** Such as "jobs". */
  noun: string;
  count: number;
  /** `count` with its noun: "3 jobs". */
  countText: string;
  /** Shown below the count. */
  advice?: ReactNode;
  onClear: () => void;
  /** The buttons of the actions. */
  children: ReactNode;
}

export function SelectionBar({ noun, count, countText, advice, onClear, children }: SelectionBarProps) {
  if (count === 0) return null;
  return (
    <Paper component="section" aria-label={`Selected ${noun}`} className={classes.bar}>
      <div aria-live="polite">
        <Text component="span" fw={600}>
          {countText} selected
        </Text>
        {advice && (
          <Text component="div" fz="sm" c="dimmed">
            {advice}
          </Text>
        )}
      </div>
      <Group gap="xs">
        <Button variant="default" onClick={onClear}>
          Clear selection
        </Button>
        {children}
      </Group>
    </Paper>
  );
}
