/** The user's sessions, and signing out of them. */
import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { notify } from "../../app/interaction/notify.tsx";
import { IconDeviceDesktop, IconDeviceMobile } from "@tabler/icons-react";
import { api } from "../../app/api/client.ts";
import { useDialog } from "../../app/interaction/use-dialog.ts";
import { ConfirmDialog } from "../../components/dialogs/confirm-dialog.tsx";
import { Section } from "../../components/layout/section.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import classes from "./sessions.module.css";
import { useCallback, useEffect, useState } from "react";

interface OwnSession {
  id: string;
  current: boolean;
  created_at: string;
  last_seen_at: string;
  ip_address: string | null;
  user_agent: string | null;
}

export function SessionsSection() {
  const { data, error, reload } = useSessions();
  return (
    <Section
      title="Sessions"
      description="Devices where you are signed in. If you don’t recognise a session, end it and change your password."
    >
      {data ? (
        <SessionList sessions={data} onChange={reload} />
      ) : error ? (
        <ErrorState error={error} onRetry={reload} />
      ) : (
        <LoadingState rows={2} />
      )}
    </Section>
  );
}

function SessionList({ sessions, onChange }: { sessions: readonly OwnSession[]; onChange: () => void }) {
  const dialog = useDialog<OwnSession | "others">();
  const isAboutOthers = dialog.subject === "others";
  const end = async (): Promise<void> => {
    const { subject } = dialog;
    await api.delete(subject === "others" || !subject ? "auth/sessions" : `auth/sessions/${subject.id}`);
    onChange();
    notify(isAboutOthers ? "Other sessions ended." : "Session ended.");
  };
  return (
    <Stack gap="md">
      <ul className={classes.list}>
        {sessions.map((session) => (
          <SessionItem key={session.id} session={session} onEnd={() => dialog.open(session)} />
        ))}
      </ul>
      {sessions.length > 1 && (
        <Group>
          <Button variant="default" onClick={() => dialog.open("others")}>
            End all other sessions{" "}
          </Button>
        </Group>
      )}
      <ConfirmDialog
        opened={dialog.isOpen}
        onClose={dialog.close}
        title={isAboutOthers ? "End all other sessions?" : "End this session?"}
        action={isAboutOthers ? "End all other sessions" : "End session"}
        isDangerous
        onConfirm={end}
      >
        {isAboutOthers ? "These devices have" : "This device has"} to sign in again.
      </ConfirmDialog>
    </Stack>
  );
}

function SessionItem({ session, onEnd }: { session: OwnSession; onEnd: () => void }) {
  const device = describeDevice(session.user_agent);
  const Picture = device.isMobile ? IconDeviceMobile : IconDeviceDesktop;
  return (
    <li className={classes.item}>
      <Picture size={22} stroke={1.6} aria-hidden="true" className={classes.icon} />
      <div className={classes.what}>
        <Group gap={8}>
          <Text fw={600} fz="sm">
            {device.name}
          </Text>
          {session.current && <Badge>This session</Badge>}
        </Group>
        <Text fz="sm" c="dimmed">
          {session.ip_address ?? "Unknown IP address"} · last seen <Timestamp value={session.last_seen_at} />{" "}
          · signed in <Timestamp value={session.created_at} display="exact" />
        </Text>
      </div>
      {!session.current && (
        <Button variant="default" size="xs" onClick={onEnd} aria-label={`End session on ${device.name}`}>
          End
        </Button>
      )}
    </li>
  );
}

/** While it reloads, the previous sessions stay. */
function useSessions() {
  const [state, setState] = useState<{ data: OwnSession[] | null; error: unknown }>({
    data: null,
    error: null,
  });
  const reload = useCallback(() => {
    api.get<OwnSession[]>("auth/sessions").then(
      (data) => setState({ data, error: null }),
      (error: unknown) => setState((former) => ({ ...former, error })),
    );
  }, []);
  useEffect(reload, [reload]);
  return { ...state, reload };
}

const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/Chrome\//, "Chrome"],
  [/^(?=.*\bVersion\/\d).*Safari\//, "Safari"],
];

const OPERATING_SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

interface Device {
  name: string;
  isMobile: boolean;
}

/** Names the browser and the system of a User-Agent header, which can be forged. */
function describeDevice(userAgent: string | null): Device {
  if (userAgent === null || userAgent === "") return { name: "Unknown browser", isMobile: false };
  const findName = (list: typeof BROWSERS): string | undefined =>
    list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [findName(BROWSERS), findName(OPERATING_SYSTEMS)];
  const name = [browser ?? "Other browser", system].filter(Boolean).join(" on ");
  return { name, isMobile: /Mobile|iPhone|iPad|Android/.test(userAgent) };
}
