/** A card of the dashboard. Where its own part of the answer failed, it says so and leaves the others alone. */
import { Group, Paper, Title } from "@mantine/core";
import { useId, type ReactNode } from "react";
import { ErrorState } from "../../components/status/page-states.tsx";
import classes from "./dashboard.module.css";

interface DashboardPanelProps<Part> {
  title: string;
  /** At the end of the title's line. */
  action?: ReactNode;
  /** Null or undefined: it could not be had. */
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
