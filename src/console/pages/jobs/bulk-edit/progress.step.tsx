/** How far a run is, and its buttons. */
import { Button, Group, Progress, Stack, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { describeError } from "../../../app/api/describe-error.ts";
import { formatCount, formatNumber } from "../../../app/formats.ts";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import { Alert } from "../../../components/status/alert.tsx";
import type { Interruption, Run, RunStatus } from "./chunk-run.ts";
import { useRunState } from "./use-bulk-edit.ts";
import classes from "../list/jobs.module.css";

const STATUS_LABELS: Partial<Record<RunStatus, string>> = {
  pausing: "Pausing",
  paused: "Paused",
  stopping: "Stopping",
};

interface ProgressStepProps<Result> {
  run: Run<Result>;
  /** Such as "Changing". */
  verb: string;
  count: (result: Result) => number;
  total: number;
  hint: string;
  stopLabel: string;
  onStop: () => void;
}

export function ProgressStep<Result>(props: ProgressStepProps<Result>) {
  const { run, verb, count, total, hint, stopLabel, onStop } = props;
  const { status, result, interruption } = useRunState(run);
  const done = count(result);
  const isPaused = status === "paused";
  const label = STATUS_LABELS[status] ?? verb;
  return (
    <Stack>
      <Text ref={focusOnMount} tabIndex={-1} fw={600} className={classes.summary}>
        {label}: {formatNumber(done)} of {formatCount(Math.max(total, done), "job")}
      </Text>
      <Progress.Root size="lg">
        <Progress.Section
          value={total === 0 ? 0 : Math.min(100, Math.floor((100 * done) / total))}
          color={isPaused ? "amber" : "spruce"}
          aria-label={`${verb} jobs`}
        />
      </Progress.Root>
      <Text fz="sm" c="dimmed">
        {hint}
      </Text>
      <div role="status">
        {interruption && <InterruptionAlert interruption={interruption} />}
        {isPaused && !interruption && (
          <Text fz="sm">Paused. No request is sent until you select Continue.</Text>
        )}
      </div>
      <div className={classes.actions}>
        <Group gap="xs">
          <Button variant="default" onClick={onStop} disabled={status === "stopping"}>
            {stopLabel}
          </Button>
          {isPaused || status === "pausing" ? (
            <Button leftSection={<IconPlayerPlay size={16} aria-hidden="true" />} onClick={run.resume}>
              Continue
            </Button>
          ) : (
            <Button
              variant="default"
              leftSection={<IconPlayerPause size={16} aria-hidden="true" />}
              onClick={run.pause}
              disabled={status === "stopping"}
            >
              Pause
            </Button>
          )}
        </Group>
      </div>
    </Stack>
  );
}

function InterruptionAlert({ interruption: { error, retryAfterMs } }: { interruption: Interruption }) {
  const { title, message, guide } = describeError(error);
  const wait = retryAfterMs === null ? null : formatCount(Math.ceil(retryAfterMs / 1_000), "second");
  return (
    <Alert color="amber" title={wait === null ? title : "Waiting for the server"} guide={guide}>
      {message}{" "}
      {wait === null
        ? "Nothing is lost: select Continue to send the last request again."
        : `It continues automatically after ${wait}.`}
    </Alert>
  );
}
