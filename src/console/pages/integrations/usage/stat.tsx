/** A number with its label. */
import { Paper, Text } from "@mantine/core";

interface StatProps {
  label: string;
  value: string;
  note?: string | undefined;
}

export function Stat({ label, value, note }: StatProps) {
  return (
    <Paper p="md">
      <Text c="dimmed" fz="sm">
        {label}
      </Text>
      <Text fz={24} fw={650} lh={1.3} style={{ fontVariantNumeric: "tabular-nums" }}>
        {value}
      </Text>
      {note !== undefined && (
        <Text c="dimmed" fz="sm">
          {note}
        </Text>
      )}
    </Paper>
  );
}
