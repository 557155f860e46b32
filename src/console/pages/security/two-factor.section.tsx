/** The second factor: on or off, and the ways between. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { notify } from "../../app/interaction/notify.ts";
import { useState } from "react";
import { api } from "../../app/api/client.ts";
import { useSession, useSessionStore, type Session } from "../../app/session/session.ts";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { ConfirmDialog, ConfirmForm } from "../../components/dialogs/confirm-dialog.tsx";
import { Section } from "../../components/layout/section.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
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

  const renewCodes = async (): Promise<void> => {
    const made = await api.post<{ recovery_codes: string[] }>("auth/two-factor/recovery-codes");
    setCodes(made.recovery_codes);
  };
  const disable = async (): Promise<void> => {
    await api.post("auth/two-factor/disable");
    await session.load();
    notify("The second step is off.");
  };

  return (
    <Section
      title="Second step"
      description="A code of an authenticator app, beside the password: who has only one of them does not come in."
    >
      <TwoFactorStatus user={user} onOpen={open} />
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
          <ConfirmForm action="Make new codes" onConfirm={renewCodes}>
            The codes that you have now will stop working.
          </ConfirmForm>
        )}
      </Dialog>
      <ConfirmDialog
        opened={dialog === "turn-off"}
        onClose={close}
        title="Turn the second step off?"
        action="Turn off"
        isDangerous
        onConfirm={disable}
      >
        Whoever has your password can sign in as you.
      </ConfirmDialog>
    </Section>
  );
}

function TwoFactorStatus({ user, onOpen }: { user: Session["user"]; onOpen: (dialog: OpenDialog) => void }) {
  const { has_two_factor: isEnabled, requires_two_factor: isRequired } = user;
  const asks = "Signing in asks for a code of your app, or one of your recovery codes.";
  return (
    <Stack>
      <Group>
        <StatusBadge label={isEnabled ? "On" : "Off"} tone={isEnabled ? "success" : "attention"} />
        <Text fz="sm" c="dimmed">
          {isEnabled
            ? `${asks}${isRequired ? " Your account must have it." : ""}`
            : "Signing in asks for your password alone."}
        </Text>
      </Group>
      {isEnabled ? (
        <Group>
          <Button variant="default" onClick={() => onOpen("new-codes")}>
            New recovery codes
          </Button>
          {!isRequired && (
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
