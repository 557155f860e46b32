/** Changing webhook endpoints, and sending again. */
import { fromTypedId } from "../../platform/ids.ts";
import { AppError } from "../../platform/errors.ts";
import type { EndpointSettings } from "../../webhooks/endpoint.checks.ts";
import type { Held } from "../../webhooks/endpoint.status.ts";
import type { EndpointView } from "../../webhooks/endpoint.view.ts";
import { actContext, allowed, personOf } from "../access.ts";
import type { GraphqlContext } from "../context.ts";
import { badArgument } from "../errors.ts";
import type {
  CreateWebhookEndpointInput,
  MutationResolvers,
  MutationResumeWebhookEndpointArgs,
  WebhookEndpointPatch,
  WebhookHeaderInput,
} from "../generated/schema-types.ts";
import { toJobEventTypes } from "../nodes/event.node.ts";
import { toDeliveryNode, toEndpointNode } from "../nodes/webhook.node.ts";
import { orUserErrors } from "../user-errors.ts";

type WebhookMutations = Pick<
  MutationResolvers,
  | "createWebhookEndpoint"
  | "updateWebhookEndpoint"
  | "deleteWebhookEndpoint"
  | "pauseWebhookEndpoint"
  | "resumeWebhookEndpoint"
  | "rotateWebhookSecret"
  | "revealWebhookSecret"
  | "sendTestEvent"
  | "replayDelivery"
  | "replayDeliveries"
>;

/** Where the id of what is changed stands among the arguments. */
const BY_ID = { fields: "", subject: "id" };
const BY_ENDPOINT = { fields: "", subject: "endpointId" };

const managing = (context: GraphqlContext) => ({
  caller: {
    ...allowed(context, "webhooks:manage"),
    address: context.address,
    requestId: context.requestId,
  },
  ...context.services,
});

/** Choosing a URL needs `jobs:read`, because whole jobs are sent there. */
const receivingJobs = (context: GraphqlContext) => {
  allowed(context, "jobs:read");
  return managing(context);
};

export const webhookMutations: WebhookMutations = {
  createWebhookEndpoint(_root, { input }, context) {
    const { caller, endpoints } = receivingJobs(context);
    const refused = { endpoint: null, secret: null };
    return orUserErrors({ fields: "input", subject: null }, refused, async () => {
      const owner = { ...caller, organizationId: ownerOf(caller, input) };
      const settings = newSettings(input);
      const made = await context.duringExternalCall(() => endpoints.create(owner, settings));
      return { endpoint: toEndpointNode(made.endpoint), secret: made.secret };
    });
  },

  updateWebhookEndpoint(_root, { id, patch }, context) {
    const isMoved = patch.url !== undefined;
    const { caller, endpoints } = isMoved ? receivingJobs(context) : managing(context);
    return orUserErrors({ fields: "patch", subject: "id" }, { endpoint: null }, async () => {
      const settings = changedSettings(patch);
      const update = (): Promise<EndpointView> => endpoints.update(caller, id, settings);
      // Only a URL is resolved.
      const endpoint = await (settings.url === undefined ? update() : context.duringExternalCall(update));
      return { endpoint: toEndpointNode(endpoint) };
    });
  },

  deleteWebhookEndpoint(_root, { id }, context) {
    const { caller, endpoints } = managing(context);
    return orUserErrors(BY_ID, { deletedId: null, discarded: null }, async () => ({
      ...(await endpoints.delete(caller, id)),
      deletedId: id,
    }));
  },

  pauseWebhookEndpoint(_root, { id }, context) {
    const { caller, endpoints } = managing(context);
    return orUserErrors(BY_ID, { endpoint: null }, async () => ({
      endpoint: toEndpointNode(await endpoints.pause(caller, id)),
    }));
  },

  resumeWebhookEndpoint(_root, args, context) {
    const { caller, endpoints } = managing(context);
    const held = heldOf(args);
    return orUserErrors(BY_ID, { endpoint: null, discarded: null }, async () => {
      const { endpoint, discarded } = await endpoints.resume(caller, args.id, { held });
      return { endpoint: toEndpointNode(endpoint), discarded };
    });
  },

  rotateWebhookSecret(_root, { id }, context) {
    const { caller, endpoints } = managing(context);
    return orUserErrors(BY_ID, { endpoint: null, secret: null }, async () => {
      const { endpoint, secret } = await endpoints.rotateSecret(caller, id);
      return { endpoint: toEndpointNode(endpoint), secret };
    });
  },

  revealWebhookSecret(_root, request, context) {
    allowed(context, "webhooks:manage");
    const person = actContext(context, personOf(context));
    return orUserErrors(BY_ID, { secret: null }, async () => ({
      secret: await context.services.secrets.revealTo(person, request),
    }));
  },

  sendTestEvent(_root, { endpointId }, context) {
    const { caller, deliveries } = managing(context);
    return orUserErrors(BY_ENDPOINT, { delivery: null }, async () => {
      const sent = await context.duringExternalCall(() => deliveries.sendTest(caller, endpointId));
      return { delivery: toDeliveryNode(sent.delivery) };
    });
  },

  replayDelivery(_root, { id }, context) {
    const { caller, deliveries } = managing(context);
    return orUserErrors(BY_ID, { delivery: null }, async () => ({
      delivery: toDeliveryNode(await deliveries.replay(caller, id)),
    }));
  },

  replayDeliveries(_root, { endpointId, only, since }, context) {
    const { caller, deliveries } = managing(context);
    return orUserErrors(BY_ENDPOINT, { replayed: null }, () =>
      only === "FAILED"
        ? deliveries.replayFailed(caller, endpointId, since ?? new Date(0))
        : deliveries.replayMissing(caller, endpointId, since ?? undefined),
    );
  },
};

function ownerOf(
  { organizationId }: { organizationId: string | null },
  input: CreateWebhookEndpointInput,
): string {
  const given = input.organizationId ?? null;
  const uuid = given === null ? organizationId : fromTypedId("org", given);
  if (organizationId !== null && uuid !== organizationId)
    throw new AppError("ForbiddenException", "An organisation makes endpoints of its own alone");
  if (uuid === null) throw badArgument("organizationId", "must be the id of the organisation whose it is");
  return uuid;
}

/** Null is as good as absent. */
function newSettings(input: CreateWebhookEndpointInput): EndpointSettings & { url: string } {
  return {
    url: input.url,
    description: input.description ?? undefined,
    eventTypes: input.eventTypes ? toJobEventTypes(input.eventTypes) : undefined,
    headers: input.headers ? headersOf(input.headers) : undefined,
    maxInFlight: input.maxInFlight ?? undefined,
    perSecond: input.perSecond ?? undefined,
  };
}

/** Null clears what can be empty. */
function changedSettings(patch: WebhookEndpointPatch): EndpointSettings {
  for (const name of ["url", "maxInFlight", "perSecond"] as const)
    if (patch[name] === null) throw badArgument(name, "must not be null");
  return {
    url: patch.url ?? undefined,
    description: patch.description === null ? "" : patch.description,
    eventTypes: patch.eventTypes && toJobEventTypes(patch.eventTypes),
    headers: patch.headers === undefined ? undefined : headersOf(patch.headers ?? []),
    maxInFlight: patch.maxInFlight ?? undefined,
    perSecond: patch.perSecond ?? undefined,
  };
}

function headersOf(headers: readonly WebhookHeaderInput[]): Record<string, string> {
  const names = new Set<string>();
  for (const [at, { name }] of headers.entries()) {
    if (names.has(name)) throw badArgument(`headers.${at}.name`, "is given twice");
    names.add(name);
  }
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}

function heldOf({ held, since }: MutationResumeWebhookEndpointArgs): Held {
  if (held === "SEND_SINCE") {
    if (since) return { since };
    throw badArgument("since", "is needed with held: SEND_SINCE");
  }
  if (since) throw badArgument("since", "goes with held: SEND_SINCE alone");
  return held === "SEND" ? "send" : "discard";
}
