/** Arguments of webhooks that differ from their operations. */
import { invalidArgument } from "../arguments.ts";
import type { MutationResumeWebhookEndpointArgs } from "../generated/schema-types.ts";
import type { Adjustment } from "../operation-mutations.ts";

export const webhookAdjustments: Readonly<Record<string, Adjustment>> = {
  resumeWebhookEndpoint: {
    toInput(args) {
      const { id, pendingPolicy = "send", since } = args as unknown as MutationResumeWebhookEndpointArgs;
      const isSince = pendingPolicy === "send_since";
      if (isSince && !since) throw invalidArgument("since", "is required with pendingPolicy: SEND_SINCE");
      if (!isSince && since) throw invalidArgument("since", "is only allowed with pendingPolicy: SEND_SINCE");
      return { id, pending: isSince ? "send" : pendingPolicy, since: since ?? undefined };
    },
  },
};
