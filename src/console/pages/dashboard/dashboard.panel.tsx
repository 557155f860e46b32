/** A card of the dashboard. If its part of the response failed, it shows the error and leaves other cards alone. */
import { Group, Paper, Title } from "@mantine/core";
import { useId, type ReactNode } from "react";
import { ErrorState } from "../../components/status/page-states.tsx";
import classes from "./dashboard.module.css";

interface DashboardPanelProps<Part> {
  title: string;
  /** Next to the title. */
  action?: ReactNode;
  /** Null or undefined if loading it failed. */
  part: Part | null | undefined;
  error: unknown;
  onRetry: () => void;
  children: (part: Part) => ReactNode;
}

export function DashboardPanel<Part>({
  title,
  action,
  part,
  error,
  onRetry,
  children,
}: DashboardPanelProps<Part>) {
  const id = useId();
  const hasPart = part !== null && part !== undefined;
  return (
    <Paper component="section" aria-labelledby={id} className={classes.panel}>
      <Group justify="space-between" align="baseline" mb="md">
        <Title order={2} id={id}>
          {title}
        </Title>
        {hasPart && action}
      </Group>
      {hasPart ? children(part) : <ErrorState error={error} onRetry={onRetry} />}
    </Paper>
  );
}
