/** Mutations of webhooks that differ from their operations, or have none. */
import { requireManager, requireUser } from "../authorize.ts";
import { invalidArgument } from "../arguments.ts";
import type { MutationResolvers, MutationResumeWebhookEndpointArgs } from "../generated/schema-types.ts";
import { BY_ID, mutation } from "../mutation.ts";
import type { Adjustment } from "../operation-mutations.ts";

export const webhookMutations: MutationResolvers = {
  revealWebhookSecret: mutation(
    (context) => {
      requireManager(context);
      return requireUser(context);
    },
    BY_ID,
    async (caller, request, { services }) => ({ secret: await services.secrets.reveal(caller, request) }),
  ),
};

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
