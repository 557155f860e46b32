/** Whether news comes by itself, and the way to have peace. Paused, lost and live differ in words, not in colour alone. */
import { Button, Group } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useLiveState, type LiveState } from "../app/live.ts";
import { StatusBadge } from "./status-badge.tsx";
import type { Tone } from "./tone.ts";

interface LiveMarkProps {
  isPaused: boolean;
  onToggle: () => void;
}

const MARKS: Record<LiveState, { label: string; tone: Tone }> = {
  idle: { label: "Connecting", tone: "neutral" },
  connecting: { label: "Connecting", tone: "neutral" },
  live: { label: "Live", tone: "success" },
  reconnecting: { label: "Reconnecting", tone: "attention" },
  refused: { label: "Not live", tone: "danger" },
};

export function LiveMark({ isPaused, onToggle }: LiveMarkProps) {
  const state = useLiveState();
  const mark: { label: string; tone: Tone } = isPaused ? { label: "Paused", tone: "muted" } : MARKS[state];
  const Picture = isPaused ? IconPlayerPlay : IconPlayerPause;
  return (
    <Group gap="xs">
      <span role="status">
        <StatusBadge {...mark} />
      </span>
      <Button
        variant="default"
        size="xs"
        leftSection={<Picture size={14} aria-hidden="true" />}
        onClick={onToggle}
        aria-label={isPaused ? "Resume live updates" : "Pause live updates"}
      >
        {isPaused ? "Resume" : "Pause"}
      </Button>
    </Group>
  );
}
