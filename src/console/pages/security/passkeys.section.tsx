/** The user's passkeys: adding, renaming and removing them. */
import { Button, Group, Menu, Stack, Text } from "@mantine/core";
import { IconFingerprint } from "@tabler/icons-react";
import { useCallback, useEffect, useState } from "react";
import { api } from "../../app/api/client.ts";
import { notify } from "../../app/interaction/notify.tsx";
import { useDialog, type DialogState } from "../../app/interaction/use-dialog.ts";
import { listPasskeys, type Passkey, supportsPasskeys } from "../../app/session/passkeys.ts";
import { useSessionStore } from "../../app/session/session.ts";
import { ConfirmDialog } from "../../components/dialogs/confirm-dialog.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { Section } from "../../components/layout/section.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { RowActions } from "../../components/tables/row-actions.tsx";
import { AddPasskeyDialog, PasskeyNameForm } from "./passkey-name.form.tsx";
import classes from "./sessions.module.css";

const MAX_PASSKEYS = 10;

export function PasskeysSection() {
  const { data, error, reload } = usePasskeys();
  return (
    <Section
      title="Passkeys"
      description="Sign in with your fingerprint, face or screen lock instead of a password and a code."
    >
      {data ? (
        <Passkeys passkeys={data} onChange={reload} />
      ) : error ? (
        <ErrorState error={error} onRetry={reload} />
      ) : (
        <LoadingState rows={1} />
      )}
    </Section>
  );
}

interface PasskeysProps {
  passkeys: readonly Passkey[];
  onChange: () => void;
}

function Passkeys({ passkeys, onChange }: PasskeysProps) {
  const [isAdding, setAdding] = useState(false);
  const renaming = useDialog<Passkey>();
  const removing = useDialog<Passkey>();
  const added = (): void => {
    onChange();
    notify("Passkey added. You can now sign in with it.");
  };
  return (
    <Stack>
      {passkeys.length === 0 ? (
        <Text fz="sm" c="dimmed">
          You have no passkeys.
        </Text>
      ) : (
        <ul className={classes.list}>
          {passkeys.map((passkey) => (
            <PasskeyItem key={passkey.id} passkey={passkey}>
              <Menu.Item onClick={() => renaming.open(passkey)}>Rename</Menu.Item>
              <Menu.Item color="red" onClick={() => removing.open(passkey)}>
                Remove
              </Menu.Item>
            </PasskeyItem>
          ))}
        </ul>
      )}
      {!supportsPasskeys() ? (
        <Text fz="sm">This browser can’t use passkeys. Update it, or open this page over https.</Text>
      ) : passkeys.length >= MAX_PASSKEYS ? (
        <Text fz="sm">You have {MAX_PASSKEYS} passkeys. Remove one before you add another.</Text>
      ) : (
        <Group>
          <Button variant="default" onClick={() => setAdding(true)}>
            Add a passkey
          </Button>
        </Group>
      )}
      <AddPasskeyDialog opened={isAdding} onClose={() => setAdding(false)} onAdded={added} />
      <RenameDialog dialog={renaming} onChange={onChange} />
      <RemoveDialog dialog={removing} onChange={onChange} />
    </Stack>
  );
}

function PasskeyItem({ passkey, children }: { passkey: Passkey; children: React.ReactNode }) {
  const { name, createdAt, lastUsedAt } = passkey;
  return (
    <li className={classes.item}>
      <IconFingerprint size={22} stroke={1.6} aria-hidden="true" className={classes.icon} />
      <div className={classes.what}>
        <Text fw={600} fz="sm" style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        <Text fz="sm" c="dimmed">
          {lastUsedAt === null ? (
            "Never used"
          ) : (
            <>
              Last used <Timestamp value={lastUsedAt} />
            </>
          )}{" "}
          · added <Timestamp value={createdAt} display="exact" />
        </Text>
      </div>
      <RowActions label={`Actions for ${name}`}>{children}</RowActions>
    </li>
  );
}

interface ChangeProps {
  dialog: DialogState<Passkey>;
  onChange: () => void;
}

function RenameDialog({ dialog, onChange }: ChangeProps) {
  const { subject, isOpen, openCount, close } = dialog;
  const rename = async (name: string): Promise<void> => {
    await api.post("auth/passkey/update-passkey", { id: subject?.id, name });
    close();
    onChange();
    notify("Passkey renamed.");
  };
  return (
    <Dialog opened={isOpen} onClose={close} title="Rename passkey">
      <PasskeyNameForm key={openCount} name={subject?.name} action="Rename" onSubmit={rename} />
    </Dialog>
  );
}

function RemoveDialog({ dialog, onChange }: ChangeProps) {
  const session = useSessionStore();
  const { subject, isOpen, close } = dialog;
  const remove = async (): Promise<void> => {
    await api.post("auth/passkey/delete-passkey", { id: subject?.id });
    onChange();
    await session.load();
    notify("Passkey removed.");
  };
  return (
    <ConfirmDialog
      opened={isOpen}
      onClose={close}
      title={`Remove ${subject?.name}?`}
      action="Remove"
      isDangerous
      onConfirm={remove}
    >
      It no longer signs you in. Also delete it from your device or password manager, which we can’t do.
    </ConfirmDialog>
  );
}

/** While it reloads, the previous passkeys stay. */
function usePasskeys() {
  const [state, setState] = useState<{ data: Passkey[] | null; error: unknown }>({ data: null, error: null });
  const reload = useCallback(() => {
    listPasskeys().then(
      (data) =>
        setState({ data: data.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)), error: null }),
      (error: unknown) => setState((former) => ({ ...former, error })),
    );
  }, []);
  useEffect(reload, [reload]);
  return { ...state, reload };
}
