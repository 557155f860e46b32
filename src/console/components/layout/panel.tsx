/** A card with a heading and optional actions. */
import { Group, Paper, Title } from "@mantine/core";
import { useId, type ReactNode } from "react";

interface PanelProps {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function Panel({ title, actions, children }: PanelProps) {
  const id = useId();
  return (
    <Paper component="section" p="lg" aria-labelledby={id}>
      <Group justify="space-between" mb="md" gap="xs">
        <Title order={2} id={id}>
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Paper>
  );
}
