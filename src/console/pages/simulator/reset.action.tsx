/** Deletes all test data after a confirmation. */
import { formatCount } from "../../app/formats.ts";
import { useApolloClient, useMutation } from "@apollo/client/react";
import { Button, List, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconTrash } from "@tabler/icons-react";
import { notify } from "../../app/interaction/notify.tsx";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { ConfirmDialog } from "../../components/dialogs/confirm-dialog.tsx";
import { ResetTestDataDocument } from "../../generated/simulator.ts";

export function ResetAction({ onReset }: { onReset: () => void }) {
  const [isOpen, dialog] = useDisclosure(false);
  const [reset] = useMutation(ResetTestDataDocument);
  const { cache } = useApolloClient();
  const confirm = async (): Promise<void> => {
    const { deleted } = payloadOrThrow((await reset()).data?.resetTestData);
    // Lists of other pages may contain deleted jobs and deliveries.
    cache.evict({ id: "ROOT_QUERY", fieldName: "jobs" });
    cache.evict({ id: "ROOT_QUERY", fieldName: "job" });
    cache.evict({ id: "ROOT_QUERY", fieldName: "webhookDeliveries" });
    onReset();
    notify(
      `${formatCount(deleted?.jobs ?? 0, "job")} and ${formatCount(deleted?.deliveries ?? 0, "delivery", "deliveries")} deleted.`,
    );
  };
  return (
    <>
      <Button
        variant="outline"
        color="red"
        size="xs"
        leftSection={<IconTrash size={14} aria-hidden="true" />}
        onClick={dialog.open}
      >
        Reset test data…
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title="Reset test data"
        action="Delete test data"
        isDangerous
        onConfirm={confirm}
      >
        <Text>This deletes for your whole organisation:</Text>
        <List mt="xs">
          <List.Item>all test jobs and their history</List.Item>
          <List.Item>all webhook deliveries of test events</List.Item>
          <List.Item>the request log of test keys</List.Item>
        </List>
        <Text mt="xs">
          Test keys and test endpoints stay. Live data is not affected. You can’t undo this.
        </Text>
      </ConfirmDialog>
    </>
  );
}
