/** The scheduled tasks of all processes, and a link to Agenda's dashboard. */
import { formatNumber } from "../../app/formats.ts";
import { Button, Stack, Text } from "@mantine/core";
import { IconClockCog, IconExternalLink } from "@tabler/icons-react";
import { useCallback, useEffect, useState } from "react";
import { api } from "../../app/api/client.ts";
import { AGENDA_DASHBOARD_PATH, serverUrl } from "../../app/api/server-url.ts";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { DataTable, type Column } from "../../components/tables/data-table.tsx";
import classes from "./operator.module.css";

interface Task {
  name: string;
  /** Null for one-off tasks. */
  interval_ms: number | null;
  scheduled: number;
  is_running: boolean;
  last_run_at: string | null;
  next_run_at: string | null;
  failures_in_a_row: number;
  failure: string | null;
}

const POLL_INTERVAL_MS = 10_000;

export function TasksPage() {
  const { tasks, error, reload } = useTasks();
  return (
    <>
      <PageHeader
        title="Tasks"
        description="Background work of all processes. Agenda schedules it in MongoDB; what is due is stored in PostgreSQL."
        actions={
          <Button
            component="a"
            variant="default"
            href={serverUrl(AGENDA_DASHBOARD_PATH)}
            target="_blank"
            rel="noopener"
            rightSection={<IconExternalLink size={16} aria-hidden="true" />}
          >
            Open dashboard
          </Button>
        }
      />
      {error ? (
        <ErrorState error={error} onRetry={reload} />
      ) : tasks ? (
        <TaskList tasks={tasks} />
      ) : (
        <LoadingState />
      )}
    </>
  );
}

function TaskList({ tasks }: { tasks: readonly Task[] }) {
  if (tasks.length === 0)
    return (
      <EmptyState icon={IconClockCog} title="No tasks yet">
        A worker creates them within a minute after it starts.
      </EmptyState>
    );
  return <DataTable caption="Tasks" columns={columns} rows={tasks} rowKey={({ name }) => name} />;
}

const columns: readonly Column<Task>[] = [
  {
    id: "name",
    header: "Task",
    isTitle: true,
    cell: ({ name, interval_ms: intervalMs, scheduled }) => (
      <div>
        {labels[name] ?? name}
        <Text fz="sm" c="dimmed" fw={400}>
          {name} · {intervalMs === null ? `${formatNumber(scheduled)} scheduled` : everyText(intervalMs)}
        </Text>
      </div>
    ),
  },
  {
    id: "last",
    header: "Last run",
    cell: ({ last_run_at: at }) => (at === null ? "–" : <Timestamp value={at} />),
  },
  { id: "result", header: "Result", cell: (task) => <Result task={task} /> },
  {
    id: "failures",
    header: "Failures in a row",
    align: "end",
    cell: ({ failures_in_a_row: failures }) => (
      <span className={failures > 0 ? classes.warning : undefined}>{formatNumber(failures)}</span>
    ),
  },
  {
    id: "next",
    header: "Next run",
    cell: ({ next_run_at: at }) => (at === null ? "–" : <Timestamp value={at} />),
  },
];

const labels: Readonly<Record<string, string>> = {
  "webhooks.retry": "Retry deliveries of an endpoint",
  "webhooks.sweep": "Find due deliveries",
  "webhooks.disable": "Disable failing endpoints",
  "webhooks.disable-test": "Disable failing test endpoints",
  "webhooks.retention": "Delete old deliveries",
  "mails.sweep": "Send due e-mails",
  "mails.retention": "Delete old e-mails",
  "notifications.sweep": "Send due notifications",
  "notifications.remind": "Remind of expiring keys",
  "requests.retention": "Delete the old request log",
  "test-runs.step": "Next step of a test job",
  "test-runs.sweep": "Find due steps of test jobs",
};

function Result({ task: { is_running: isRunning, last_run_at: at, failure } }: { task: Task }) {
  if (failure !== null)
    return (
      <Stack gap={2} className={classes.trouble}>
        <StatusBadge tone="danger" label="Failed" />
        <Text component="span" fz="sm" c="dimmed" className={classes.anywhere}>
          {failure}
        </Text>
      </Stack>
    );
  if (isRunning) return <StatusBadge tone="progress" label="Running" />;
  return at === null ? "–" : <StatusBadge tone="success" label="Succeeded" />;
}

const UNITS = [
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** "every 5 seconds", "every hour". */
function everyText(intervalMs: number): string {
  const [unit, size] = UNITS.find(([, ms]) => intervalMs % ms === 0) ?? ["second", 1_000];
  const count = intervalMs / size;
  return count === 1 ? `every ${unit}` : `every ${formatNumber(count)} ${unit}s`;
}

/** Polled, because the tasks are not in the database that changes are followed in. */
function useTasks() {
  const [state, setState] = useState<{ tasks: readonly Task[] | null; error: unknown }>({
    tasks: null,
    error: null,
  });
  const reload = useCallback(() => {
    api.get<{ tasks: Task[] }>("operator/agenda/tasks").then(
      ({ tasks }) => setState({ tasks, error: null }),
      (error: unknown) => setState({ tasks: null, error }),
    );
  }, []);
  useEffect(() => {
    reload();
    const timer = setInterval(reload, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return { ...state, reload };
}
