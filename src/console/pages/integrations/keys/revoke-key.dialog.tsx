/** Revokes a key, and optionally the keys that it created. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { keysCreatedBy } from "../../../app/created-keys.ts";
import { notify } from "../../../app/interaction/notify.tsx";
import type { DialogState } from "../../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { AlsoRevoke } from "../../../components/dialogs/also-revoke.tsx";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { RevokeApiKeyDocument, type ApiKeyRowFragment } from "../../../generated/api-keys.ts";

interface RevokeKeyDialogProps {
  dialog: DialogState<ApiKeyRowFragment>;
  /** All keys, oldest first. */
  keys: readonly ApiKeyRowFragment[];
}

export function RevokeKeyDialog({ dialog, keys }: RevokeKeyDialogProps) {
  return (
    dialog.subject && (
      <RevokeKeyConfirmation key={dialog.openCount} apiKey={dialog.subject} dialog={dialog} keys={keys} />
    )
  );
}

function RevokeKeyConfirmation({
  apiKey: key,
  dialog: { isOpen, close },
  keys,
}: RevokeKeyDialogProps & { apiKey: ApiKeyRowFragment }) {
  const [revoke] = useMutation(RevokeApiKeyDocument);
  const [revokeCreated, setRevokeCreated] = useState(false);
  const created = keysCreatedBy(keys, key.id, useNow());
  const confirm = async (): Promise<void> => {
    const { data } = await revoke({ variables: { id: key.id, includeCreatedKeys: revokeCreated } });
    const alsoRevoked = payloadOrThrow(data?.revokeApiKey).alsoRevoked?.length ?? 0;
    notify(
      alsoRevoked === 0
        ? `${key.name} revoked.`
        : `${key.name} and ${keyCount(alsoRevoked)} it created revoked.`,
    );
  };
  return (
    <ConfirmDialog
      opened={isOpen}
      onClose={close}
      title={`Revoke ${key.name}?`}
      action="Revoke key"
      isDangerous
      onConfirm={confirm}
    >
      <Stack gap="sm">
        <Text>
          Requests with this key ({key.prefix}…) are rejected within one second. This can’t be undone:
          integrations that use it need a new key.
        </Text>
        <Text c="dimmed" fz="sm">
          {key.lastUsedAt === null ? (
            "The key was never used."
          ) : (
            <>
              The key was last used <Timestamp value={key.lastUsedAt} />.
            </>
          )}
        </Text>
        {created.length > 0 && (
          <AlsoRevoke
            label={`Also revoke ${created.length === 1 ? "this key" : `these ${created.length} keys`}`}
            items={created.map(({ id, name, prefix }) => ({ id, name, note: `${prefix}…` }))}
            isChecked={revokeCreated}
            onChange={setRevokeCreated}
          >
            This key created {keyCount(created.length)}, directly or through other keys. If it leaked, revoke
            them too.
          </AlsoRevoke>
        )}
      </Stack>
    </ConfirmDialog>
  );
}

/** Formats a number of keys: "1 key", "2 keys". */
function keyCount(count: number): string {
  return count === 1 ? "1 key" : `${count} keys`;
}
