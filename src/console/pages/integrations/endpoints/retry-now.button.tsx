/** Retries the waiting deliveries of an endpoint. */
import { useMutation } from "@apollo/client/react";
import { Button } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { notify, notifyError } from "../../../app/interaction/notify.tsx";
import { RetryWebhookEndpointDocument } from "../../../generated/webhook-endpoint.ts";

export function RetryNowButton({ endpointId: id }: { endpointId: string }) {
  const [retry, { loading }] = useMutation(RetryWebhookEndpointDocument, {
    refetchQueries: ["WebhookDeliveries"],
  });
  const run = async (): Promise<void> => {
    try {
      const { data } = await retry({ variables: { id } });
      payloadOrThrow(data?.retryWebhookEndpoint);
      notify("Retrying now.");
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Button
      variant="default"
      size="xs"
      mt="xs"
      mb={4}
      leftSection={<IconRefresh size={14} aria-hidden="true" />}
      loading={loading}
      onClick={() => void run()}
    >
      Retry now
    </Button>
  );
}
