/** Chooses the columns of the jobs table. */
import { Anchor, Checkbox, Popover, ScrollArea, Stack } from "@mantine/core";
import { useColumnWidths } from "../../../components/tables/use-column-widths.ts";
import { ColumnsButton } from "./jobs.buttons.tsx";
import { columnDefinitions } from "./jobs.columns.tsx";
import { COLUMNS, type ColumnId } from "../filters/jobs.search.ts";

interface ColumnMenuProps {
  shown: readonly ColumnId[];
  isDefault: boolean;
  /** Undefined restores the default columns. */
  onChange: (columns: ColumnId[] | undefined) => void;
}

export function ColumnMenu({ shown, isDefault, onChange }: ColumnMenuProps) {
  const { widths, reset } = useColumnWidths("jobs");
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <ColumnsButton />
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Checkbox.Group
          label="Columns"
          value={[...shown]}
          onChange={(columns) => onChange(columns.length === 0 ? [...shown] : columns)}
        >
          <ScrollArea.Autosize mah={320} mt="xs" type="auto">
            <Stack gap={8} p={2}>
              {COLUMNS.map((id) => (
                <Checkbox
                  key={id}
                  size="xs"
                  value={id}
                  label={columnDefinitions[id].header}
                  disabled={shown.length === 1 && shown[0] === id}
                />
              ))}
            </Stack>
          </ScrollArea.Autosize>
        </Checkbox.Group>
        {!isDefault && (
          <Anchor
            component="button"
            type="button"
            fz="sm"
            mt="sm"
            display="block"
            onClick={() => onChange(undefined)}
          >
            Reset to default columns
          </Anchor>
        )}
        {Object.keys(widths).length > 0 && (
          <Anchor component="button" type="button" fz="sm" mt="sm" display="block" onClick={reset}>
            Reset widths
          </Anchor>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
