/** Sends to a disabled endpoint again, and asks what becomes of what has waited. */
import { useMutation } from "@apollo/client/react";
import { Radio, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { notify } from "../../../app/interaction/notify.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { ResumeWebhookEndpointDocument, type PendingPolicy } from "../../../generated/webhook-endpoint.ts";
import type { EndpointCardFragment } from "../../../generated/webhook-endpoints.ts";
import classes from "../operator.module.css";

interface ResumeFailingEndpointDialogProps {
  opened: boolean;
  onClose: () => void;
  endpoint: EndpointCardFragment;
  onResumed: () => void;
}

const pendingOptions = [
  {
    value: "SEND",
    label: "Send what has waited",
    description: "Oldest first, as fast as the endpoint’s limits allow.",
  },
  {
    value: "DISCARD",
    label: "Discard what has waited",
    description: "It can still be replayed while it is in the log.",
  },
];

export function ResumeFailingEndpointDialog({
  opened,
  onClose,
  endpoint,
  onResumed,
}: ResumeFailingEndpointDialogProps) {
  const { id, url, organization, pending } = endpoint;
  const [resume] = useMutation(ResumeWebhookEndpointDocument);
  const [pendingPolicy, setPendingPolicy] = useState<PendingPolicy>("SEND");
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title="Resume the endpoint"
      action="Resume"
      onConfirm={async () => {
        payloadOrThrow((await resume({ variables: { id, pendingPolicy } })).data?.resumeWebhookEndpoint);
        onResumed();
        notify(`${organization.name} is sent events again.`);
      }}
    >
      <Stack>
        <Text className={classes.anywhere}>
          Events go to {url} of {organization.name} again. If it is still not well, it is disabled again: in 5
          days, or at once where it answers 410.
        </Text>
        {pending > 0 && (
          <Radio.Group
            label={
              pending === 1 ? "One event has waited" : `${pending.toLocaleString("en")} events have waited`
            }
            value={pendingPolicy}
            onChange={setPendingPolicy}
          >
            <Stack gap="xs" mt={4}>
              {pendingOptions.map((choice) => (
                <Radio key={choice.value} {...choice} />
              ))}
            </Stack>
          </Radio.Group>
        )}
      </Stack>
    </ConfirmDialog>
  );
}
