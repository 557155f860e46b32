/** The state of live updates, and the button that pauses them. */
import { Button, Group } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useConnectionStatus, type ConnectionStatus } from "../../app/api/connection-status.ts";
import { useMode } from "../../app/session/session.ts";
import { StatusBadge } from "./status-badge.tsx";
import type { Tone } from "./tone.ts";

interface LiveIndicatorProps {
  /** The last attempt to read the page's data failed, so what it shows is not live. */
  error?: unknown;
  isPaused: boolean;
  onToggle: () => void;
}

const INDICATORS: Record<ConnectionStatus, { label: string; tone: Tone }> = {
  idle: { label: "Connecting", tone: "neutral" },
  connecting: { label: "Connecting", tone: "neutral" },
  live: { label: "Live", tone: "success" },
  reconnecting: { label: "Reconnecting", tone: "attention" },
  refused: { label: "Disconnected", tone: "danger" },
};

export function LiveIndicator({ error, isPaused, onToggle }: LiveIndicatorProps) {
  const state = useConnectionStatus();
  const isTest = useMode() === "test";
  const indicator: { label: string; tone: Tone } = isPaused
    ? { label: "Paused", tone: "muted" }
    : error
      ? { label: "Not up to date", tone: "danger" }
      : // "Live" would contradict test mode.
        { ...INDICATORS[state], ...(isTest && state === "live" && { label: "Connected" }) };
  const Picture = isPaused ? IconPlayerPlay : IconPlayerPause;
  return (
    <Group gap="xs">
      <span role="status">
        <StatusBadge {...indicator} />
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
