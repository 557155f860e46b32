/** Sends a test event and passes the delivery with the receiver's response to `onTested`. */
import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { notifyError } from "../../../app/interaction/notify.tsx";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { SendTestEventDocument, type SendTestEventMutation } from "../../../generated/webhook-endpoint.ts";

export type TestDelivery = NonNullable<SendTestEventMutation["sendTestEvent"]["delivery"]>;

export function useTestEvent(endpointId: string, onTested: (result: TestDelivery) => void) {
  const [send] = useMutation(SendTestEventDocument, { refetchQueries: ["WebhookDeliveries"] });
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const { data } = await send({ variables: { endpointId } });
      const { delivery } = payloadOrThrow(data?.sendTestEvent);
      if (delivery) onTested(delivery);
    } catch (error) {
      notifyError(error);
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, send: () => void run() };
}
