/** Mutations of webhook endpoints, and replay of deliveries. */
import { fromTypedId } from "../../../core/ids.ts";
import { AppError } from "../../../core/errors.ts";
import {
  type EndpointSettings,
  type EndpointView,
  headersByName,
  type PendingPolicy,
} from "../../../webhooks/api.ts";
import { authorize, requireManager, requireUser } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument } from "../arguments.ts";
import type {
  CreateWebhookEndpointInput,
  MutationResolvers,
  MutationResumeWebhookEndpointArgs,
  WebhookEndpointPatch,
} from "../generated/schema-types.ts";
import { BY_ID, mutation } from "../mutation.ts";
import type { AuthenticatedPrincipal } from "../authenticated-principal.ts";

const BY_ENDPOINT = { fields: "", subject: "endpointId" };

/** Setting a URL also requires `jobs:read`, because whole jobs are sent there. */
function requireManagerOfJobs(context: GraphqlContext): AuthenticatedPrincipal {
  authorize(context, "jobs:read");
  return requireManager(context);
}

export const webhookMutations: MutationResolvers = {
  createWebhookEndpoint: mutation(
    requireManagerOfJobs,
    { fields: "input", subject: null },
    async (caller, { input }, { services, duringExternalCall }) => {
      const owner = { ...caller, organizationId: owningOrganization(caller, input) };
      const settings = newSettings(input);
      return await duringExternalCall(() => services.endpoints.create(owner, settings));
    },
  ),

  updateWebhookEndpoint: mutation(
    (context, { patch }) =>
      patch.url === undefined ? requireManager(context) : requireManagerOfJobs(context),
    { fields: "patch", subject: "id" },
    async (caller, { id, patch }, { services, duringExternalCall }) => {
      const settings = changedSettings(patch);
      const update = (): Promise<EndpointView> => services.endpoints.update(caller, id, settings);
      // Only a new URL needs a DNS lookup.
      return { endpoint: await (settings.url === undefined ? update() : duringExternalCall(update)) };
    },
  ),

  deleteWebhookEndpoint: mutation(requireManager, BY_ID, async (caller, { id }, { services }) => ({
    ...(await services.endpoints.delete(caller, id)),
    deletedId: id,
  })),

  pauseWebhookEndpoint: mutation(requireManager, BY_ID, async (caller, { id }, { services }) => ({
    endpoint: await services.endpoints.pause(caller, id),
  })),

  resumeWebhookEndpoint: mutation(
    (context, args) => {
      const principal = requireManager(context);
      pendingPolicyOf(args);
      return principal;
    },
    BY_ID,
    (caller, args, { services }) =>
      services.endpoints.resume(caller, args.id, { pendingPolicy: pendingPolicyOf(args) }),
  ),

  rotateWebhookSecret: mutation(requireManager, BY_ID, (caller, { id }, { services }) =>
    services.endpoints.rotateSecret(caller, id),
  ),

  revealWebhookSecret: mutation(
    (context) => {
      requireManager(context);
      return requireUser(context);
    },
    BY_ID,
    async (caller, request, { services }) => ({ secret: await services.secrets.reveal(caller, request) }),
  ),

  sendTestEvent: mutation(
    requireManager,
    BY_ENDPOINT,
    async (caller, { endpointId }, { services, duringExternalCall }) => {
      const { delivery } = await duringExternalCall(() => services.deliveries.sendTest(caller, endpointId));
      return { delivery };
    },
  ),

  replayDelivery: mutation(requireManager, BY_ID, async (caller, { id }, { services }) => ({
    delivery: await services.deliveries.replay(caller, id),
  })),

  replayDeliveries: mutation(requireManager, BY_ENDPOINT, (caller, args, { services: { deliveries } }) => {
    const { endpointId, only: which, since, until } = args;
    const selection = { which, since: since ?? undefined, until: until ?? undefined };
    return deliveries.replayMany(caller, endpointId, selection);
  }),
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
    eventTypes: input.eventTypes ?? undefined,
    headers: input.headers ? headersByName(input.headers) : undefined,
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
    eventTypes: patch.eventTypes,
    headers: patch.headers === undefined ? undefined : headersByName(patch.headers ?? []),
    maxInFlight: patch.maxInFlight ?? undefined,
    perSecond: patch.perSecond ?? undefined,
  };
}

function pendingPolicyOf({
  pendingPolicy = "send",
  since,
}: MutationResumeWebhookEndpointArgs): PendingPolicy {
  if (pendingPolicy === "send_since") {
    if (since) return { since };
    throw invalidArgument("since", "is required with pendingPolicy: SEND_SINCE");
  }
  if (since) throw invalidArgument("since", "is only allowed with pendingPolicy: SEND_SINCE");
  return pendingPolicy;
}
