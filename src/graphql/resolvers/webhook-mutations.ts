/** Changing webhook endpoints, and sending again. */
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

/** Where the id of what is changed stands among the arguments. */
const BY_ID = { fields: "", subject: "id" };
const BY_ENDPOINT = { fields: "", subject: "endpointId" };

const webhookContext = (context: GraphqlContext) => ({
  caller: {
    ...authorize(context, "webhooks:manage"),
    address: context.address,
    requestId: context.requestId,
  },
  ...context.services,
});

/** Choosing a URL needs `jobs:read`, because whole jobs are sent there. */
const webhookContextWithJobs = (context: GraphqlContext) => {
  authorize(context, "jobs:read");
  return webhookContext(context);
};

export const webhookMutations: WebhookMutations = {
  createWebhookEndpoint(_root, { input }, context) {
    const { caller, endpoints } = webhookContextWithJobs(context);
    const refused = { endpoint: null, secret: null };
    return withUserErrors({ fields: "input", subject: null }, refused, async () => {
      const owner = { ...caller, organizationId: owningOrganization(caller, input) };
      const settings = newSettings(input);
      const made = await context.duringExternalCall(() => endpoints.create(owner, settings));
      return { endpoint: toEndpointNode(made.endpoint), secret: made.secret };
    });
  },

  updateWebhookEndpoint(_root, { id, patch }, context) {
    const isMoved = patch.url !== undefined;
    const { caller, endpoints } = isMoved ? webhookContextWithJobs(context) : webhookContext(context);
    return withUserErrors({ fields: "patch", subject: "id" }, { endpoint: null }, async () => {
      const settings = changedSettings(patch);
      const update = (): Promise<EndpointView> => endpoints.update(caller, id, settings);
      // Only a URL is resolved.
      const endpoint = await (settings.url === undefined ? update() : context.duringExternalCall(update));
      return { endpoint: toEndpointNode(endpoint) };
    });
  },

  deleteWebhookEndpoint(_root, { id }, context) {
    const { caller, endpoints } = webhookContext(context);
    return withUserErrors(BY_ID, { deletedId: null, discarded: null }, async () => ({
      ...(await endpoints.delete(caller, id)),
      deletedId: id,
    }));
  },

  pauseWebhookEndpoint(_root, { id }, context) {
    const { caller, endpoints } = webhookContext(context);
    return withUserErrors(BY_ID, { endpoint: null }, async () => ({
      endpoint: toEndpointNode(await endpoints.pause(caller, id)),
    }));
  },

  resumeWebhookEndpoint(_root, args, context) {
    const { caller, endpoints } = webhookContext(context);
    const pendingPolicy = pendingPolicyOf(args);
    return withUserErrors(BY_ID, { endpoint: null, discarded: null }, async () => {
      const { endpoint, discarded } = await endpoints.resume(caller, args.id, { pendingPolicy });
      return { endpoint: toEndpointNode(endpoint), discarded };
    });
  },

  rotateWebhookSecret(_root, { id }, context) {
    const { caller, endpoints } = webhookContext(context);
    return withUserErrors(BY_ID, { endpoint: null, secret: null }, async () => {
      const { endpoint, secret } = await endpoints.rotateSecret(caller, id);
      return { endpoint: toEndpointNode(endpoint), secret };
    });
  },

  revealWebhookSecret(_root, request, context) {
    authorize(context, "webhooks:manage");
    const person = auditContext(context, requireUser(context));
    return withUserErrors(BY_ID, { secret: null }, async () => ({
      secret: await context.services.secrets.reveal(person, request),
    }));
  },

  sendTestEvent(_root, { endpointId }, context) {
    const { caller, deliveries } = webhookContext(context);
    return withUserErrors(BY_ENDPOINT, { delivery: null }, async () => {
      const sent = await context.duringExternalCall(() => deliveries.sendTest(caller, endpointId));
      return { delivery: toDeliveryNode(sent.delivery) };
    });
  },

  replayDelivery(_root, { id }, context) {
    const { caller, deliveries } = webhookContext(context);
    return withUserErrors(BY_ID, { delivery: null }, async () => ({
      delivery: toDeliveryNode(await deliveries.replay(caller, id)),
    }));
  },

  replayDeliveries(_root, { endpointId, only, since }, context) {
    const { caller, deliveries } = webhookContext(context);
    return withUserErrors(BY_ENDPOINT, { replayed: null }, () =>
      only === "FAILED"
        ? deliveries.replayFailed(caller, endpointId, since ?? new Date(0))
        : deliveries.replayMissing(caller, endpointId, since ?? undefined),
    );
  },
};

function owningOrganization(
  { organizationId }: { organizationId: string | null },
  input: CreateWebhookEndpointInput,
): string {
  const given = input.organizationId ?? null;
  const uuid = given === null ? organizationId : fromTypedId("org", given);
  if (organizationId !== null && uuid !== organizationId)
    throw new AppError("ForbiddenException", "An organisation makes endpoints of its own alone");
  if (uuid === null)
    throw invalidArgument("organizationId", "must be the id of the organisation whose it is");
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
