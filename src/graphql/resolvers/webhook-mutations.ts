/** Mutations of webhook endpoints, and replay of deliveries. */
import { fromTypedId } from "../../platform/ids.ts";
import { AppError } from "../../platform/errors.ts";
import type { EndpointSettings, EndpointView, PendingPolicy } from "../../webhooks/api.ts";
import { auditContext, authorize, requireUser } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument } from "../invalid-argument.ts";
import type {
  CreateWebhookEndpointInput,
  MutationResolvers,
  MutationResumeWebhookEndpointArgs,
  WebhookEndpointPatch,
  WebhookHeaderInput,
} from "../generated/schema-types.ts";
import { toJobEventTypes } from "../nodes/event.node.ts";
import { toDeliveryNode, toEndpointNode } from "../nodes/webhook.node.ts";
import { withUserErrors } from "../user-errors.ts";

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

/** The argument that userErrors point to. */
const BY_ID = { fields: "", subject: "id" };
const BY_ENDPOINT = { fields: "", subject: "endpointId" };

const webhookContext = (context: GraphqlContext) => ({
  principal: {
    ...authorize(context, "webhooks:manage"),
    address: context.address,
    requestId: context.requestId,
  },
  ...context.services,
});

/** Setting a URL also requires `jobs:read`, because whole jobs are sent there. */
const webhookContextWithJobs = (context: GraphqlContext) => {
  authorize(context, "jobs:read");
  return webhookContext(context);
};

export const webhookMutations: WebhookMutations = {
  createWebhookEndpoint(_root, { input }, context) {
    const { principal, endpoints } = webhookContextWithJobs(context);
    const nullPayload = { endpoint: null, secret: null };
    return withUserErrors({ fields: "input", subject: null }, nullPayload, async () => {
      const owner = { ...principal, organizationId: owningOrganization(principal, input) };
      const settings = newSettings(input);
      const { endpoint, secret } = await context.duringExternalCall(() => endpoints.create(owner, settings));
      return { endpoint: toEndpointNode(endpoint), secret };
    });
  },

  updateWebhookEndpoint(_root, { id, patch }, context) {
    const changesUrl = patch.url !== undefined;
    const { principal, endpoints } = changesUrl ? webhookContextWithJobs(context) : webhookContext(context);
    return withUserErrors({ fields: "patch", subject: "id" }, { endpoint: null }, async () => {
      const settings = changedSettings(patch);
      const update = (): Promise<EndpointView> => endpoints.update(principal, id, settings);
      // Only a new URL needs a DNS lookup.
      const endpoint = await (settings.url === undefined ? update() : context.duringExternalCall(update));
      return { endpoint: toEndpointNode(endpoint) };
    });
  },

  deleteWebhookEndpoint(_root, { id }, context) {
    const { principal, endpoints } = webhookContext(context);
    return withUserErrors(BY_ID, { deletedId: null, discarded: null }, async () => ({
      ...(await endpoints.delete(principal, id)),
      deletedId: id,
    }));
  },

  pauseWebhookEndpoint(_root, { id }, context) {
    const { principal, endpoints } = webhookContext(context);
    return withUserErrors(BY_ID, { endpoint: null }, async () => ({
      endpoint: toEndpointNode(await endpoints.pause(principal, id)),
    }));
  },

  resumeWebhookEndpoint(_root, args, context) {
    const { principal, endpoints } = webhookContext(context);
    const pendingPolicy = pendingPolicyOf(args);
    return withUserErrors(BY_ID, { endpoint: null, discarded: null }, async () => {
      const { endpoint, discarded } = await endpoints.resume(principal, args.id, { pendingPolicy });
      return { endpoint: toEndpointNode(endpoint), discarded };
    });
  },

  rotateWebhookSecret(_root, { id }, context) {
    const { principal, endpoints } = webhookContext(context);
    return withUserErrors(BY_ID, { endpoint: null, secret: null }, async () => {
      const { endpoint, secret } = await endpoints.rotateSecret(principal, id);
      return { endpoint: toEndpointNode(endpoint), secret };
    });
  },

  revealWebhookSecret(_root, request, context) {
    authorize(context, "webhooks:manage");
    const user = auditContext(context, requireUser(context));
    return withUserErrors(BY_ID, { secret: null }, async () => ({
      secret: await context.services.secrets.reveal(user, request),
    }));
  },

  sendTestEvent(_root, { endpointId }, context) {
    const { principal, deliveries } = webhookContext(context);
    return withUserErrors(BY_ENDPOINT, { delivery: null }, async () => {
      const sent = await context.duringExternalCall(() => deliveries.sendTest(principal, endpointId));
      return { delivery: toDeliveryNode(sent.delivery) };
    });
  },

  replayDelivery(_root, { id }, context) {
    const { principal, deliveries } = webhookContext(context);
    return withUserErrors(BY_ID, { delivery: null }, async () => ({
      delivery: toDeliveryNode(await deliveries.replay(principal, id)),
    }));
  },

  replayDeliveries(_root, { endpointId, only, since }, context) {
    const { principal, deliveries } = webhookContext(context);
    return withUserErrors(BY_ENDPOINT, { replayed: null }, () =>
      only === "FAILED"
        ? deliveries.replayFailed(principal, endpointId, since ?? new Date(0))
        : deliveries.replayMissing(principal, endpointId, since ?? undefined),
    );
  },
};

function owningOrganization(
  { organizationId }: { organizationId: string | null },
  input: CreateWebhookEndpointInput,
): string {
  const requestedId = input.organizationId ?? null;
  const uuid = requestedId === null ? organizationId : fromTypedId("org", requestedId);
  if (organizationId !== null && uuid !== organizationId)
    throw new AppError("ForbiddenException", "An organisation can create endpoints only for itself");
  if (uuid === null)
    throw invalidArgument("organizationId", "must be the ID of the organisation that owns the endpoint");
  return uuid;
}

/** Null is treated as absent. */
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

/** Null clears a setting that can be empty and is rejected for the others. */
function changedSettings(patch: WebhookEndpointPatch): EndpointSettings {
  for (const name of ["url", "maxInFlight", "perSecond"] as const)
    if (patch[name] === null) throw invalidArgument(name, "must not be null");
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
  const seenNames = new Set<string>();
  for (const [index, { name }] of headers.entries()) {
    if (seenNames.has(name)) throw invalidArgument(`headers.${index}.name`, "is given twice");
    seenNames.add(name);
  }
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}

function pendingPolicyOf({ pendingPolicy, since }: MutationResumeWebhookEndpointArgs): PendingPolicy {
  if (pendingPolicy === "SEND_SINCE") {
    if (since) return { since };
    throw invalidArgument("since", "is required with pendingPolicy: SEND_SINCE");
  }
  if (since) throw invalidArgument("since", "is only allowed with pendingPolicy: SEND_SINCE");
  return pendingPolicy === "SEND" ? "send" : "discard";
}
