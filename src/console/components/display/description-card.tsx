/** A card with a description list. */
import { Paper } from "@mantine/core";
import { DescriptionList, type DescriptionItem } from "./description-list.tsx";

export function DescriptionCard({ items, label }: { items: readonly DescriptionItem[]; label: string }) {
  return (
    <Paper component="section" aria-label={label} p="lg">
      <DescriptionList items={items} />
    </Paper>
  );
}
