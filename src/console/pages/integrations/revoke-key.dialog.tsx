/** Revokes a key, and on request the keys that it created, after saying what stops with it. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { keysCreatedBy } from "../../app/created-keys.ts";
import { tell } from "../../app/tell.ts";
import type { DialogState } from "../../app/use-dialog.ts";
import { accepted } from "../../app/user-errors.ts";
import { AlsoRevoke } from "../../components/also-revoke.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Timestamp, useNow } from "../../components/timestamp.tsx";
import { RevokeApiKeyDocument, type ApiKeyRowFragment } from "../../generated/api-keys.ts";
import { keyCount } from "./key-count.ts";

interface RevokeKeyDialogProps {
  dialog: DialogState<ApiKeyRowFragment>;
  /** All keys, the oldest first. */
  keys: readonly ApiKeyRowFragment[];
}

export function RevokeKeyDialog({ dialog, keys }: RevokeKeyDialogProps) {
  return (
    dialog.subject && <RevokeKey key={dialog.turn} apiKey={dialog.subject} dialog={dialog} keys={keys} />
  );
}

function RevokeKey({
  apiKey: key,
  dialog: { isOpen, close },
  keys,
}: RevokeKeyDialogProps & { apiKey: ApiKeyRowFragment }) {
  const [revoke] = useMutation(RevokeApiKeyDocument);
  const [withCreated, setWithCreated] = useState(false);
  const created = keysCreatedBy(keys, key.id, useNow());
  const confirm = async (): Promise<void> => {
    const { data } = await revoke({ variables: { id: key.id, withCreated } });
    const also = accepted(data?.revokeApiKey).alsoRevoked?.length ?? 0;
    tell(
      also === 0 ? `${key.name} is revoked.` : `${key.name} and ${keyCount(also)} it created are revoked.`,
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
          Every request with this key ({key.startsWith}…) is refused within a second. That cannot be undone:
          programs that use it need a new key.
        </Text>
        <Text c="dimmed" fz="sm">
          {key.lastUsedAt === null ? (
            "It was never used."
          ) : (
            <>
              It was last used <Timestamp value={key.lastUsedAt} />.
            </>
          )}
        </Text>
        {created.length > 0 && (
          <AlsoRevoke
            label={`Also revoke ${created.length === 1 ? "this key" : `these ${created.length} keys`}`}
            items={created.map(({ id, name, startsWith }) => ({ id, name, note: `${startsWith}…` }))}
            isChecked={withCreated}
            onChange={setWithCreated}
          >
            This key created {keyCount(created.length)}, directly or through other keys. If it leaked, revoke
            them as well.
          </AlsoRevoke>
        )}
      </Stack>
    </ConfirmDialog>
  );
}
