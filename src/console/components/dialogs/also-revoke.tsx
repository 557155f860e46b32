/** A checkbox in a dialog that also revokes the listed items, such as the keys that a key created. */
import { Checkbox, List, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface AlsoRevokeProps {
  /** The label of the checkbox, such as "Also revoke these 2 keys". */
  label: string;
  /** The text above the list. */
  children: ReactNode;
  items: readonly { id: string; name: string; note?: string }[];
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

export function AlsoRevoke({ label, children, items, isChecked, onChange }: AlsoRevokeProps) {
  return (
    <Stack gap="xs">
      <Text fz="sm">{children}</Text>
      <List fz="sm" spacing={4} style={{ maxHeight: "12rem", overflowY: "auto" }} tabIndex={0}>
        {items.map(({ id, name, note }) => (
          <List.Item key={id} style={{ overflowWrap: "anywhere" }}>
            {name}
            {note !== undefined && (
              <Text span c="dimmed" fz="sm">
                {" "}
                ({note})
              </Text>
            )}
          </List.Item>
        ))}
      </List>
      <Checkbox
        label={label}
        checked={isChecked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    </Stack>
  );
}
