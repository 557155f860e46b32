/** Ends a key, after saying what stops with it. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { tell } from "../../app/tell.ts";
import type { DialogState } from "../../app/use-dialog.ts";
import { accepted } from "../../app/user-errors.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { RevokeApiKeyDocument, type ApiKeyRowFragment } from "../../generated/api-keys.ts";

export function RevokeKeyDialog({
  dialog: { subject: key, isOpen, close },
}: {
  dialog: DialogState<ApiKeyRowFragment>;
}) {
  const [revoke] = useMutation(RevokeApiKeyDocument);
  if (!key) return null;
  const confirm = async (): Promise<void> => {
    const { data } = await revoke({ variables: { id: key.id } });
    accepted(data?.revokeApiKey);
    tell(`${key.name} is revoked.`);
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
      <Stack gap="xs">
        <Text>
          Every request with this key ({key.startsWith}…) is refused within a second. That cannot be undone:
          whatever still needs access then needs a new key.
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
      </Stack>
    </ConfirmDialog>
  );
}
