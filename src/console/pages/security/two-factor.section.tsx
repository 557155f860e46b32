/** The second factor: on or off, and the ways between. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { tell } from "../../app/tell.ts";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useSession, useSessionStore, type Session } from "../../app/session.ts";
import { Dialog } from "../../components/dialog.tsx";
import { ConfirmDialog, ConfirmQuestion } from "../../components/confirm-dialog.tsx";
import { Section } from "../../components/section.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { RecoveryCodes } from "./recovery-codes.tsx";
import { TwoFactorSetup } from "./two-factor-setup.tsx";

type OpenDialog = "none" | "turn-on" | "new-codes" | "turn-off";

export function TwoFactorSection() {
  const { user } = useSession();
  const session = useSessionStore();
  const [dialog, setDialog] = useState<OpenDialog>("none");
  /** Shown once, after new ones were made. */
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const close = (): void => setDialog("none");
  const open = (next: OpenDialog): void => {
    setCodes(null);
    setDialog(next);
  };

  const renew = async (): Promise<void> => {
    const made = await api.post<{ recovery_codes: string[] }>("auth/two-factor/recovery-codes");
    setCodes(made.recovery_codes);
  };
  const turnOff = async (): Promise<void> => {
    await api.post("auth/two-factor/disable");
    await session.load();
    tell("The second step is off.");
  };

  return (
    <Section
      title="Second step"
      description="A code of an authenticator app, beside the password: who has only one of them does not come in."
    >
      <TwoFactorState user={user} onOpen={open} />
      <TwoFactorSetup opened={dialog === "turn-on"} onClose={close} />
      <Dialog
        opened={dialog === "new-codes"}
        onClose={close}
        title={codes ? "Your recovery codes" : "New recovery codes"}
        isShownOnce={codes !== null}
      >
        {codes ? (
          <RecoveryCodes codes={codes} onDone={close} />
        ) : (
          <ConfirmQuestion action="Make new codes" onConfirm={renew}>
            The codes that you have now will stop working.
          </ConfirmQuestion>
        )}
      </Dialog>
      <ConfirmDialog
        opened={dialog === "turn-off"}
        onClose={close}
        title="Turn the second step off?"
        action="Turn off"
        isDangerous
        onConfirm={turnOff}
      >
        Whoever has your password can sign in as you.
      </ConfirmDialog>
    </Section>
  );
}

function TwoFactorState({ user, onOpen }: { user: Session["user"]; onOpen: (dialog: OpenDialog) => void }) {
  const { has_second_factor: isOn, must_have_second_factor: isDemanded } = user;
  const asks = "Signing in asks for a code of your app, or one of your recovery codes.";
  return (
    <Stack>
      <Group>
        <StatusBadge label={isOn ? "On" : "Off"} tone={isOn ? "success" : "attention"} />
        <Text fz="sm" c="dimmed">
          {isOn
            ? `${asks}${isDemanded ? " Your account must have it." : ""}`
            : "Signing in asks for your password alone."}
        </Text>
      </Group>
      {isOn ? (
        <Group>
          <Button variant="default" onClick={() => onOpen("new-codes")}>
            New recovery codes
          </Button>
          {!isDemanded && (
            <Button variant="light" color="red" onClick={() => onOpen("turn-off")}>
              Turn off
            </Button>
          )}
        </Group>
      ) : (
        <Group>
          <Button onClick={() => onOpen("turn-on")}>Turn on</Button>
        </Group>
      )}
    </Stack>
  );
}
