/** Webhook endpoints, deliveries and attempts, and the arguments of webhooks that differ from their operations. */
import { readDeliveryCursor } from "../../../webhooks/api.ts";
import { authorize } from "../../../operations/admit.ts";
import { rootAccess } from "../../../operations/all.ts";
import { withAccess } from "../authorize.ts";
import type { MutationResumeWebhookEndpointArgs, Resolvers } from "../generated/schema-types.ts";
import { listedMode } from "../authenticated-principal.ts";
import { invalidArgument } from "../../../core/errors.ts";
import { uuidOf } from "../nodes.ts";
import { Connection, pageRequest, readCursor } from "../pagination.ts";
import type { Adjustment } from "../operation-mutations.ts";

export const webhookResolvers: Resolvers = {
  Query: withAccess({
    webhookEndpoints: (_root, { mode }, { principal, services, database }) =>
      services.endpoints.list(principal, { mode: listedMode(principal, mode) }, database),

    webhookEndpoint: (_root, { id }, { principal, services, database }) =>
      services.endpoints.find(principal, id, database),

    failingWebhookEndpoints: (_root, _args, { services, database }) =>
      services.endpoints.listFailing(database),

    async webhookDeliveries(
      _root,
      { endpointId, status, httpClass, outcome, eventType, markingNumber, since, until, mode, ...args },
      { principal, services, database },
    ) {
      const page = pageRequest(args);
      readCursor(page, readDeliveryCursor);
      const { limit, cursor } = page;
      const filter = {
        endpointId: endpointId ?? undefined,
        status: status ?? undefined,
        httpClass: httpClass ?? undefined,
        outcome: outcome ?? undefined,
        eventType: eventType ?? undefined,
        markingNumber: markingNumber ?? undefined,
        since: since ? new Date(since) : undefined,
        until: until ? new Date(until) : undefined,
        mode: typeof endpointId === "string" ? (mode ?? undefined) : listedMode(principal, mode),
      };
      const request = { filter, limit, cursor: cursor ?? undefined };
      const { items, nextCursor, cursorOf } = await services.deliveries.list(principal, request, database);
      return new Connection({
        items,
        hasNext: nextCursor !== null,
        hasPrevious: cursor !== null,
        toNode: (view) => view,
        cursorOf,
      });
    },
  }),
  WebhookEndpoint: {
    attempts: ({ id }, _args, { loaders }) => loaders.load("endpointAttempts", uuidOf("whe", id)),
    health24h: ({ id }, _args, { loaders }) => loaders.load("endpointHealth", uuidOf("whe", id)),
    organization: ({ organizationId: id, organizationName: name, organizationType: type }) => ({
      id,
      name,
      type,
    }),
  },
  WebhookDelivery: {
    endpoint: ({ endpointId }, _args, { loaders }) => loaders.load("endpoints", uuidOf("whe", endpointId)),
    job({ jobId }, _args, { principal, loaders }) {
      if (jobId === null) return null;
      authorize(rootAccess.job, principal);
      return loaders.load("jobs", uuidOf("job", jobId));
    },
    requestBody({ id, jobId }, _args, { principal, loaders }) {
      // The body contains the whole job, except for pings.
      if (jobId !== null) authorize(rootAccess.job, principal);
      return loaders.load("requestBodies", uuidOf("dlv", id));
    },
    attempts: ({ id }, _args, { loaders }) => loaders.load("deliveryAttempts", uuidOf("dlv", id)),
    lastAttempt: ({ id }, _args, { loaders }) => loaders.load("lastAttempts", uuidOf("dlv", id)),
  },
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
