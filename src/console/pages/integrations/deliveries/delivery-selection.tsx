/** The selected deliveries of the log: a column of checkboxes and a bar with their action. */
import { Button } from "@mantine/core";
import { IconRepeat } from "@tabler/icons-react";
import type { Column } from "../../../components/tables/data-table.tsx";
import { SelectionBar, selectionColumn } from "../../../components/tables/selection.tsx";
import type { Selection } from "../../../components/tables/use-selection.ts";
import type { DeliveryRowFragment } from "../../../generated/webhook-deliveries.ts";
import { eventTypeCode } from "../event-types.ts";
import { countDeliveries } from "./delivery-status.ts";

type Delivery = DeliveryRowFragment;

/** Test events can't be replayed, and deleted endpoints receive nothing. */
export function canReplay({ origin, endpoint }: Pick<Delivery, "origin" | "endpoint">): boolean {
  return origin !== "TEST" && endpoint !== null;
}

export function selectColumn(selection: Selection, page: readonly Delivery[]): Column<Delivery> {
  return selectionColumn({
    selection,
    page,
    keyOf: ({ id }) => id,
    labelOf: ({ eventType, markingNumber }) => `${eventTypeCode(eventType)} ${markingNumber ?? ""}`,
    canSelect: canReplay,
  });
}

/** The API's limit for one replay. */
const MAX_SELECTED = 100;

interface DeliverySelectionBarProps {
  count: number;
  onReplay: () => void;
  onClear: () => void;
}

export function DeliverySelectionBar({ count, onReplay, onClear }: DeliverySelectionBarProps) {
  const excess = count - MAX_SELECTED;
  return (
    <SelectionBar
      noun="deliveries"
      count={count}
      countText={countDeliveries(count)}
      advice={excess > 0 && `You can replay up to ${MAX_SELECTED} deliveries at once. Deselect ${excess}.`}
      onClear={onClear}
    >
      <Button
        leftSection={<IconRepeat size={16} aria-hidden="true" />}
        disabled={excess > 0}
        onClick={onReplay}
      >
        Replay
      </Button>
    </SelectionBar>
  );
}
