/** Turns two-factor authentication on and off, and generates new recovery codes. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { notify } from "../../app/interaction/notify.tsx";
import { useState } from "react";
import { api } from "../../app/api/client.ts";
import { useSession, useSessionStore, type Session } from "../../app/session/session.ts";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { PasswordDialog, PasswordForm } from "../../components/dialogs/password-dialog.tsx";
import { Section } from "../../components/layout/section.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { RecoveryCodes } from "./recovery-codes.tsx";
import { TwoFactorSetup } from "./two-factor-setup.tsx";

type OpenDialog = "none" | "turn-on" | "new-codes" | "turn-off";

export function TwoFactorSection() {
  const { user } = useSession();
  const session = useSessionStore();
  const [dialog, setDialog] = useState<OpenDialog>("none");
  /** New recovery codes, which are shown once. */
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const close = (): void => setDialog("none");
  const open = (next: OpenDialog): void => {
    setCodes(null);
    setDialog(next);
  };

  const renewCodes = async (password: string): Promise<void> => {
    const path = "auth/two-factor/generate-backup-codes";
    setCodes((await api.post<{ backupCodes: string[] }>(path, { password })).backupCodes);
  };
  const disable = async (password: string): Promise<void> => {
    await api.post("auth/two-factor/disable", { password });
    await session.load();
    close();
    notify("Two-factor authentication is off.");
  };

  return (
    <Section
      title="Two-factor authentication"
      description="Requires a code from your authenticator app as well as your password."
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
          <PasswordForm action="Generate new codes" onPassword={renewCodes}>
            Your current recovery codes will stop working.
          </PasswordForm>
        )}
      </Dialog>
      <PasswordDialog
        opened={dialog === "turn-off"}
        onClose={close}
        title="Turn off two-factor authentication?"
        action="Turn off"
        isDangerous
        onPassword={disable}
      >
        Anyone with your password will be able to sign in as you.
      </PasswordDialog>
    </Section>
  );
}

function TwoFactorStatus({ user, onOpen }: { user: Session["user"]; onOpen: (dialog: OpenDialog) => void }) {
  const { has_two_factor: isEnabled, requires_two_factor: isRequired } = user;
  const description = "You sign in with your password and a code from your app, or a recovery code.";
  return (
    <Stack>
      <Group>
        <StatusBadge label={isEnabled ? "On" : "Off"} tone={isEnabled ? "success" : "attention"} />
        <Text fz="sm" c="dimmed">
          {isEnabled
            ? `${description}${isRequired ? " Required for your account." : ""}`
            : "Your password alone signs you in."}
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
