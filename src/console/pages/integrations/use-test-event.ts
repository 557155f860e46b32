/** Sends a test event and keeps what the receiver answered. */
import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { tellFailure } from "../../app/tell.ts";
import { accepted } from "../../app/user-errors.ts";
import { SendTestEventDocument, type SendTestEventMutation } from "../../generated/webhook-endpoint.ts";

export type TestResult = NonNullable<SendTestEventMutation["sendTestEvent"]["delivery"]>;

export function useTestEvent(endpointId: string, onTested: (result: TestResult) => void) {
  const [send] = useMutation(SendTestEventDocument, { refetchQueries: ["WebhookDeliveries"] });
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const { data } = await send({ variables: { endpointId } });
      const { delivery } = accepted(data?.sendTestEvent);
      if (delivery) onTested(delivery);
    } catch (error) {
      tellFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, send: () => void run() };
}
