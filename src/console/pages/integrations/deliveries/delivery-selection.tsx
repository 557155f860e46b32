/** The selected deliveries of the log: a column of checkboxes and a bar with their action. */
import { Button, Checkbox, Group, Paper, Text } from "@mantine/core";
import { IconRepeat } from "@tabler/icons-react";
import type { Column } from "../../../components/tables/data-table.tsx";
import type { DeliveryRowFragment } from "../../../generated/webhook-deliveries.ts";
import { eventTypeCode } from "../event-types.ts";
import classes from "../integrations.module.css";
import { countDeliveries } from "./delivery-status.ts";

type Delivery = DeliveryRowFragment;

export interface DeliverySelection {
  selected: ReadonlySet<string>;
  toggle: (id: string) => void;
  /** Selects all of them, or deselects them if all are selected. */
  togglePage: (ids: readonly string[]) => void;
  clear: () => void;
}

/** Test events can't be replayed, and deleted endpoints receive nothing. */
export function canReplay({ origin, endpoint }: Pick<Delivery, "origin" | "endpoint">): boolean {
  return origin !== "TEST" && endpoint !== null;
}

export function selectColumn(selection: DeliverySelection, page: readonly Delivery[]): Column<Delivery> {
  const ids = page.filter(canReplay).map(({ id }) => id);
  const count = ids.filter((id) => selection.selected.has(id)).length;
  return {
    id: "select",
    header: "Select",
    isActions: true,
    headerContent: (
      <Checkbox
        size="xs"
        aria-label="Select all on this page"
        disabled={ids.length === 0}
        checked={count > 0 && count === ids.length}
        indeterminate={count > 0 && count < ids.length}
        onChange={() => selection.togglePage(ids)}
      />
    ),
    cell: (delivery) => (
      <Checkbox
        size="xs"
        className={classes.tick}
        aria-label={`Select ${eventTypeCode(delivery.eventType)} ${delivery.markingNumber ?? ""}`.trim()}
        disabled={!canReplay(delivery)}
        checked={selection.selected.has(delivery.id)}
        onChange={() => selection.toggle(delivery.id)}
      />
    ),
  };
}

/** The API's limit for one `replaySelectedDeliveries` mutation. */
const MAX_REPLAYED = 100;

interface SelectionBarProps {
  count: number;
  onReplay: () => void;
  onClear: () => void;
}

export function SelectionBar({ count, onReplay, onClear }: SelectionBarProps) {
  if (count === 0) return null;
  const excess = count - MAX_REPLAYED;
  return (
    <Paper component="section" aria-label="Selected deliveries" className={classes.bar}>
      <div aria-live="polite">
        <Text component="span" fw={600}>
          {countDeliveries(count)} selected
        </Text>
        {excess > 0 && (
          <Text fz="sm" c="dimmed">
            You can replay up to {MAX_REPLAYED} deliveries at once. Deselect {excess}.
          </Text>
        )}
      </div>
      <Group gap="xs">
        <Button variant="default" onClick={onClear}>
          Clear selection
        </Button>
        <Button
          leftSection={<IconRepeat size={16} aria-hidden="true" />}
          disabled={excess > 0}
          onClick={onReplay}
        >
          Replay
        </Button>
      </Group>
    </Paper>
  );
}
